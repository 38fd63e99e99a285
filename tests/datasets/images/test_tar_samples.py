"""The index of a tar file is kept between runs, and never trusted when it may be wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netpart.data.byte_source import ByteSource
from netpart.data.images import tar_samples
from netpart.data.images.tar_images import TarImages
from netpart.data.images.tar_samples import TarForm
from netpart.data.remote.block_cache import CHECK, open_block_cache
from netpart.data.remote.url_path import DataPath, UrlSettings, parse_url
from tests.datasets.remote.servers import file_server
from tests.datasets.samples import photos

LABELS = [[k % 3] for k in range(0, 11, 2)]


@pytest.fixture
def tar(tmp_path: Path) -> Path:
    """A tar file of six samples that nobody changed for a long time."""
    path = photos(tmp_path) / "photos-0.tar"
    os.utime(path, (10**9, 10**9))
    return path


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were scanned."""
    scanned = list[str]()
    scan = tar_samples.scan_tar_samples

    def count_scan(file: ByteSource, form: TarForm) -> tar_samples.TarSamples:
        scanned.append(str(file.path))
        return scan(file, form)

    monkeypatch.setattr(tar_samples, "scan_tar_samples", count_scan)
    return scanned


def settings(folder: Path, mib: int = 64) -> UrlSettings:
    return UrlSettings(mib << 20, folder / "kept", 20.0)


def samples(path: DataPath, folder: Path, form: TarForm | None = None, mib: int = 64) -> tuple[list[bytes], object]:
    """The images and labels of a tar file."""
    found = TarImages([path], form or TarForm(), settings(folder, mib))
    return [found.image(n) for n in range(len(found))], None if found.labels is None else found.labels.tolist()


def kept(folder: Path) -> list[Path]:
    """The files of an index: the header, the body."""
    return sorted(each for each in (folder / "kept").rglob("*") if each.is_file())


def test_a_tar_file_is_scanned_once(
    tar: Path, tmp_path: Path, scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = samples(tar, tmp_path)
    assert (first[1], len(scans), len(kept(tmp_path))) == (LABELS, 1, 2)
    assert samples(tar, tmp_path) == first
    monkeypatch.chdir(tmp_path)
    assert samples(Path("photos-0.tar"), tmp_path) == first
    assert len(scans) == 1
    several, masked = TarForm("json"), TarForm(mask="seg.png")
    for form in (several, masked):
        assert samples(tar, tmp_path, form) == samples(tar, tmp_path, form) != first
    assert len(scans) == 3
    found = TarImages([tar], masked, settings(tmp_path))
    assert len({found.mask(n) for n in range(len(found))}) == 6
    assert len(scans) == 3


def test_a_file_that_was_changed_is_scanned_again(tar: Path, tmp_path: Path, scans: list[str]) -> None:
    samples(tar, tmp_path)
    tar.write_bytes((tmp_path / "photos-1.tar").read_bytes())
    assert samples(tar, tmp_path) == samples(tar, tmp_path) == samples(tmp_path / "photos-1.tar", tmp_path)
    # Changed just now: it may change again within the tick of its file system's clock.
    assert len(scans) == 4
    assert len(kept(tmp_path)) == 2
    os.utime(tar, (10**9, 10**9))
    assert samples(tar, tmp_path)[1] == [[k % 3] for k in range(1, 11, 2)]
    assert len(kept(tmp_path)) == 4


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def change(path: Path) -> None:
    path.write_bytes(b"?" + path.read_bytes()[1:])


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [cut, change, pipe, Path.unlink, lambda path: os.truncate(path, 0)])
@pytest.mark.parametrize("piece", [0, 1])
def test_a_damaged_index_is_made_anew(
    damage: Callable[[Path], None], piece: int, tar: Path, tmp_path: Path, scans: list[str]
) -> None:
    first = samples(tar, tmp_path)
    content = [each.read_bytes() for each in kept(tmp_path)]
    damage(kept(tmp_path)[piece])
    assert samples(tar, tmp_path) == first
    assert len(scans) == 2
    assert [each.read_bytes() for each in kept(tmp_path)] == content


def test_a_foreign_index_is_made_anew(tar: Path, tmp_path: Path, scans: list[str]) -> None:
    """It has the right checksum, and spans that leave the file, or another form."""
    first = samples(tar, tmp_path)
    cache = open_block_cache(settings(tmp_path))
    assert cache is not None
    header, body = kept(tmp_path)
    key = header.parent.name
    spans = np.frombuffer(body.read_bytes()[: 6 * 32], np.int64).copy()
    for wrong in (tar.stat().st_size + 1, -1):
        spans[3] = wrong
        cache.put(key, 1, spans.tobytes() + bytes(6 * 4))
        assert samples(tar, tmp_path) == first
    for magic, rows, labels in ((b"other", 6, 1), (b"tar samples 1\n", -6, 1), (b"tar samples 1\n", 6, 1 << 60)):
        cache.put(key, 0, tar_samples._HEADER.pack(magic, rows, labels))
        assert samples(tar, tmp_path) == first
    assert len(scans) == 6
    assert header.stat().st_size == tar_samples._HEADER.size + CHECK


def test_without_a_usable_cache_it_is_scanned(tar: Path, tmp_path: Path, scans: list[str]) -> None:
    first = samples(tar, tmp_path, mib=0)
    assert not kept(tmp_path)
    (tmp_path / "kept").touch()
    assert samples(tar, tmp_path) == first
    assert len(scans) == 2


def test_a_later_run_requests_no_headers_and_no_labels(tar: Path, tmp_path: Path) -> None:
    with file_server({"/a.tar": tar.read_bytes()}) as web:
        url = parse_url(f"http://{web.address}/a.tar?sig=1", settings(tmp_path))
        first = samples(url, tmp_path)
        for block in (tmp_path / "kept").rglob("0"):
            if block.stat().st_size > 5000:  # the bytes of the file; its index stays
                block.unlink()
        web.requests.clear()
        found = TarImages([url], TarForm(), settings(tmp_path))
        assert [method for method, _ in web.requests] == ["HEAD"]
        assert [found.image(n) for n in range(len(found))] == first[0]
