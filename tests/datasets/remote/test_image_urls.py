"""Folders and lists of images at URLs: the same tables, bits and errors as those of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from netpart.data.images.image_files import ImageFiles, read_image_table
from netpart.data.images.image_rows import ImageRows
from netpart.data.remote.url_path import DataPath, UrlPath, UrlSettings, parse_url
from netpart.errors import DataError, MissingData
from tests.datasets.remote.servers import FileServer, WebHdfsHandler, file_server, s3_server
from tests.datasets.samples import encoded, photo, photos

ROOT = "/bucket/images"
ODD = ("a b.png", "50%.png", "x#1.png", "why?.png", ".hidden.png", "notes.txt")
"""Names that a URL has to quote, and two that are no images of the set."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of images and masks, lists and tar files."""
    path = photos(tmp_path_factory.mktemp("images"))
    for name in ODD:
        (path / "photos" / "b" / "deeper").mkdir(exist_ok=True)
        (path / "photos" / "b" / "deeper" / name).write_bytes(encoded(photo(7), "png"))
        (path / "masks" / "b" / "deeper").mkdir(exist_ok=True)
        (path / "masks" / "b" / "deeper" / name).write_bytes(encoded(photo(7)[..., 0] // 64, "png"))
    dots = "photos/a2/./../../photos/b/deeper"
    (path / "odd.csv").write_text("".join(f"{dots}/{name},{n}\n" for n, name in enumerate(ODD[:4])))
    return path


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, bytes]:
    """The same by path on a server."""
    names = [each for each in folder.rglob("*") if each.is_file()]
    return {f"{ROOT}/{each.relative_to(folder)}": each.read_bytes() for each in names}


@pytest.fixture(scope="module")
def places(files: dict[str, bytes]) -> Iterator[dict[str, str]]:
    """The URL of the folder by protocol."""
    import fsspec

    with ExitStack() as stack, pytest.MonkeyPatch.context() as environment:
        web = stack.enter_context(file_server(files))
        hdfs = stack.enter_context(file_server(files, WebHdfsHandler))
        environment.setenv("AWS_ENDPOINT_URL", stack.enter_context(s3_server({**files, f"{ROOT}/photos/": b""})))
        for name, value in (("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", "s"), ("DEFAULT_REGION", "us-east-1")):
            environment.setenv(f"AWS_{name}", value)
        for path, content in files.items():
            fsspec.filesystem("memory").pipe_file(path, content)
        yield {
            "memory": f"memory:/{ROOT}", "http": f"http://{web.address}{ROOT}", "hdfs": f"hdfs://{hdfs.address}{ROOT}",
            "s3": f"s3:/{ROOT}",
        }  # fmt: skip


def own(text: str, folder: Path, deadline: float = 21.5) -> UrlPath:
    """A URL whose blocks are kept in ``folder``."""
    return parse_url(text, UrlSettings(8 << 20, folder, deadline))


def rows(path: DataPath, masks: DataPath | None = None, classes: tuple[str, ...] = ()) -> list[bytes]:
    """The bits of three steps of a shuffled set, labels included."""
    settings = path.settings if isinstance(path, UrlPath) else UrlSettings()
    samples = ImageFiles(read_image_table(path, classes, masks, settings), settings)
    found = ImageRows(
        samples, (3, 8, 9), batch=5, order=lambda epoch: np.random.default_rng(epoch).permutation(len(samples))
    )
    data, labels = np.empty((5, 3, 8, 9), np.float32), np.empty((5, *found.labels(((0, 3), (0, 8), (0, 9)))), np.int32)
    bits = []
    for step in range(4):
        found.read(step, 0, 5, data, labels)
        bits += [data.tobytes(), labels.tobytes()]
    return bits


@pytest.mark.parametrize("protocol", ["memory", "hdfs", "s3"])
def test_a_folder_at_a_url_is_the_local_one(
    protocol: str, folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    at = places[protocol]
    url = own(f"{at}/photos/", tmp_path)
    table, local = read_image_table(url), read_image_table(folder / "photos")
    assert table.classes == local.classes == ("a2", "a10", "b")
    assert [text.removeprefix(f"{at}/") for text in table.images] == [
        str(Path(text).relative_to(folder)) for text in local.images
    ]
    assert np.array_equal(table.labels, local.labels)  # type: ignore[arg-type]
    assert rows(url) == rows(folder / "photos")
    order = ("b", "a10", "a2")
    assert rows(url, classes=order) == rows(folder / "photos", classes=order) != rows(url)
    assert rows(url, own(f"{at}/masks", tmp_path)) == rows(folder / "photos", folder / "masks")
    assert rows(folder / "photos", own(f"{at}/masks/", tmp_path)) == rows(folder / "photos", folder / "masks")


@pytest.mark.parametrize("protocol", ["memory", "hdfs", "s3", "http"])
@pytest.mark.parametrize("listed", ["two.csv", "masks.csv", "odd.csv"])
def test_paths_of_a_list_start_at_its_url(
    protocol: str, listed: str, folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    assert rows(own(f"{places[protocol]}/{listed}", tmp_path)) == rows(folder / listed)


def test_files_in_the_cache_are_not_requested_again(folder: Path, files: dict[str, bytes], tmp_path: Path) -> None:
    with file_server(files) as web, file_server(files, WebHdfsHandler) as hdfs:
        for server, text in (
            (web, f"http://{web.address}{ROOT}/two.csv"),
            (hdfs, f"hdfs://{hdfs.address}{ROOT}/photos/"),
        ):
            url = own(text, tmp_path)
            samples = ImageFiles(read_image_table(url, settings=url.settings), url.settings)
            first = [samples.image(n) for n in range(len(samples))]
            count = len(server.requests)
            assert [samples.image(n) for n in range(len(samples))] == first
            assert len(server.requests) == count
        # A listing has the sizes: a name node is asked for folders, and then only for contents.
        assert {method for method, _ in hdfs.requests} == {"LISTSTATUS", "OPEN", "data"}


def test_every_image_arrives_from_a_server_that_fails(folder: Path, files: dict[str, bytes]) -> None:
    with file_server(files, WebHdfsHandler) as hdfs:
        hdfs.mode = "flaky"
        url = parse_url(f"hdfs://{hdfs.address}{ROOT}/photos/", UrlSettings(0, None, 21.5))
        local = rows(folder / "photos")
        assert all(rows(url) == local for _ in range(4))
        assert hdfs.failed >= 5


def test_what_is_no_folder_of_images_at_a_url(web: FileServer, hdfs: FileServer, tmp_path: Path) -> None:
    def refused(text: str, message: str, kind: type[DataError] = DataError) -> None:
        with pytest.raises(kind, match=message):
            read_image_table(own(text, tmp_path, 4.0))

    refused(f"http://{web.address}/photos/", r"/photos/: .* HTTP server, which has no list; write a CSV file of lines")
    hdfs.files |= {"/empty/a/notes.txt": b"x", "/d/a/1.png": b"x", "/l.csv": b"ftp://h/1.png,0\n", "/m.csv": b"1.png,x"}
    refused(f"hdfs://{hdfs.address}/none/", r"/none/: expected a folder of images, got nothing there", MissingData)
    refused(f"hdfs://{hdfs.address}/empty/", r"/empty/a: expected images .* got none; remove the empty folder")
    refused(f"hdfs://{hdfs.address}/d", r"/d: expected a file, got a folder; .* end the URL of a folder in /")
    refused(f"hdfs://{hdfs.address}/d/a/", r"/d/a/: expected a folder for each class, got none; move")
    refused(f"hdfs://{hdfs.address}/l.csv", r"/l\.csv:1: ftp://h/1\.png: expected one of")
    refused(f"hdfs://{hdfs.address}/m.csv", r"/m\.csv:1: expected `path,label`")
    refused(f"hdfs://{hdfs.address}/no.csv", r"/no\.csv: expected a folder of images or a list .* nothing", MissingData)
    hdfs.mode = "busy"
    refused(f"hdfs://{hdfs.address}/d/", r"/d/: expected a list of files, got HTTP 503 .* requests in 4 s")


def test_an_image_that_is_missing_is_named_with_its_line(web: FileServer, tmp_path: Path) -> None:
    web.files["/l.csv"] = b"1.png,0\n\n2.png?sig=SECRET,0\nhttp://%b/3.png?sig=SECRET,0\n" % web.address.encode()
    url = own(f"http://{web.address}/l.csv?sig=SECRET", tmp_path, 4.0)
    samples = ImageFiles(read_image_table(url, settings=url.settings), url.settings)
    with pytest.raises(
        DataError, match=r"/l\.csv:1: http://.*/1\.png: expected an image, got HTTP 404 \(Not Found\); correct"
    ):
        samples.image(0)
    web.files |= {"/1.png": b"x", "/3.png": b"x"}
    assert samples.image(0) == b"x"
    web.mode = "refused"
    with pytest.raises(
        DataError, match=r"/l\.csv:4: http://[^ ]*/3\.png: expected the size of a file, got no acc"
    ) as found:
        samples.image(2)
    assert "SECRET" not in str(found.value)
