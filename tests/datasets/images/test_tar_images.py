"""Samples in tar files: read by offset, and what is refused."""

from __future__ import annotations

import gzip
import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from netpart.data.file_bytes import FileBytes
from netpart.data.images.tar_images import TarImages
from netpart.data.images.tar_index import read_tar_index
from netpart.data.images.tar_samples import TarForm
from netpart.errors import DataError, MissingData
from tests.datasets.samples import encoded, photo, photos

IMAGE = encoded(photo(0), "jpg")


def tar(path: Path, members: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w", format=form) as file:
        folder = tarfile.TarInfo("train")
        folder.type = tarfile.DIRTYPE
        file.addfile(folder)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, BytesIO(content))
    return path


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_index_is_that_of_tarfile(form: int, tmp_path: Path) -> None:
    long = "/".join(["folder" * 5] * 4) if form == tarfile.USTAR_FORMAT else "näme" * 60
    members = {"a.jpg": b"1" * 700, f"{long}/b.png": b"2" * 512, "c": b"", "ü.txt": b"3"}
    tar(tmp_path / "a.tar", members, form)
    file = FileBytes(tmp_path / "a.tar")
    assert {m.name: file.read(m.start, m.stop) for m in read_tar_index(file)} == members


def test_samples_of_several_files_are_one_set(tmp_path: Path) -> None:
    photos(tmp_path)
    samples = TarImages([tmp_path / f"photos-{k}.tar" for k in range(2)], TarForm())
    order = [*range(0, 11, 2), *range(1, 11, 2)]
    assert samples.labels is not None
    assert samples.labels.tolist() == [[k % 3] for k in order]
    assert [samples.image(i) for i in range(11)] == [encoded(photo(k, 30 + k, 40), "jpg") for k in order]
    assert samples.place(7) == f"{tmp_path}/photos-1.tar: sample 1"


def test_labels_may_be_lists_in_json_or_masks(tmp_path: Path) -> None:
    photos(tmp_path)
    several = TarImages([tmp_path / "photos-0.tar"], TarForm("json"))
    assert several.labels is not None
    assert several.labels.tolist() == [[k % 3, k % 5] for k in range(0, 11, 2)]
    masked = TarImages([tmp_path / "photos-0.tar"], TarForm(mask="seg.png"))
    assert (masked.labels, masked.mask(0)[:4]) == (None, b"\x89PNG")


MEMBERS: dict[str, tuple[dict[str, bytes], str]] = {
    "no image": ({"a.txt": b"x", "a.cls": b"1"}, r"a.tar: expected samples with images \(.jpeg"),
    "no label": ({"t/a.jpg": IMAGE}, "a.tar: t/a: expected a member t/a.cls next to its image, got none; set tar_conf"),
    "a word": ({"a.jpg": IMAGE, "a.cls": b"cat"}, "a.tar: a.cls: expected a class from 0 to 2147483647, got 'cat'"),
    "too large": ({"a.jpg": IMAGE, "a.cls": b"9" * 5000}, "a.tar: a.cls: expected a class"),
    "negative": ({"a.jpg": IMAGE, "a.cls": b"-1"}, "a.tar: a.cls: expected a class"),
    "empty": ({"a.jpg": IMAGE, "a.cls": b""}, "a.tar: a.cls: expected a class"),
}
JSON: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "expected a JSON object with a field 'label', got JSONDecodeError"),
    "another field": (b"{}", "expected a JSON object with a field 'label', got KeyError"),
    "a list": (b"[1]", "expected a JSON object with a field 'label', got TypeError"),
    "a text": (b'{"label": "1"}', "expected a class from 0"),
    "true": (b'{"label": true}', "expected a class from 0"),
    "nothing": (b'{"label": []}', "expected a class from 0"),
    "deep": (b'{"label":' + b"[" * 100_000, "expected a JSON object"),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_a_sample_that_lacks_something_is_named(kind: str, tmp_path: Path) -> None:
    members, said = MEMBERS[kind]
    with pytest.raises(DataError, match=said):
        TarImages([tar(tmp_path / "a.tar", members)], TarForm())


@pytest.mark.parametrize("kind", JSON)
def test_a_wrong_object_is_named(kind: str, tmp_path: Path) -> None:
    content, said = JSON[kind]
    with pytest.raises(DataError, match=rf"a.tar: a.json: {said}"):
        TarImages([tar(tmp_path / "a.tar", {"a.jpg": IMAGE, "a.json": content})], TarForm("json"))


def test_samples_have_equally_many_labels(tmp_path: Path) -> None:
    members = {"a.jpg": IMAGE, "a.json": b'{"label": 1}', "b.jpg": IMAGE, "b.json": b'{"label": [1, 2]}'}
    with pytest.raises(DataError, match=r"a.tar: b.json: expected 1 labels as before, got 2"):
        TarImages([tar(tmp_path / "a.tar", members)], TarForm("json"))


def test_a_truncated_tar_is_refused_at_every_length(tmp_path: Path) -> None:
    whole = tar(tmp_path / "a.tar", {"a.jpg": b"1" * 700, "a.cls": b"1"}).read_bytes()
    for kept in (512, 513, 1100, 1800, 2100, 2600):
        (tmp_path / "b.tar").write_bytes(whole[:kept])
        with pytest.raises(DataError, match=r"b.tar: byte \d+: expected .*; copy the file anew"):
            list(read_tar_index(FileBytes(tmp_path / "b.tar")))


def test_a_truncated_member_is_named_with_its_size(tmp_path: Path) -> None:
    whole = tar(tmp_path / "a.tar", {"a.jpg": b"1" * 700, "a.cls": b"1"}).read_bytes()
    (tmp_path / "b.tar").write_bytes(whole[:1100])
    with pytest.raises(DataError, match=r"b.tar: byte 512: expected a member of 700 bytes, got 76 more; copy the file"):
        TarImages([tmp_path / "b.tar"], TarForm())


def test_a_damaged_header_is_named_by_its_byte(tmp_path: Path) -> None:
    content = bytearray(tar(tmp_path / "a.tar", {"a.jpg": b"1" * 700, "a.cls": b"1"}).read_bytes())
    content[512 + 5] ^= 1
    (tmp_path / "b.tar").write_bytes(content)
    with pytest.raises(DataError, match=r"b.tar: byte 512: expected the header of a member, got bad checksum; copy"):
        TarImages([tmp_path / "b.tar"], TarForm())


def test_what_is_no_tar_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(gzip.compress(bytes(2000)) + bytes(2000))
    with pytest.raises(DataError, match=r"a.tar: expected a tar file, got a gzip file; tar files are not compressed"):
        TarImages([path], TarForm())
    path.write_bytes(b"x" * 600)
    with pytest.raises(DataError, match=r"a.tar: expected a tar file, got "):
        TarImages([path], TarForm())
    path.write_bytes(b"x" * 200)
    with pytest.raises(DataError, match=r"a.tar: expected a tar file, got one of 200 bytes"):
        TarImages([path], TarForm())
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"a.tar: expected a tar file, got an empty file"):
        TarImages([path], TarForm())
    path.unlink()
    with pytest.raises(MissingData, match=r"a.tar: expected a tar file, got nothing there"):
        TarImages([path], TarForm())
    os.mkfifo(path)
    with pytest.raises(DataError, match=r"a.tar: expected a tar file, got a pipe"):
        TarImages([path], TarForm())
    path.unlink()
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(DataError, match=r"a.tar: expected samples with images"):
        TarImages([path], TarForm())
