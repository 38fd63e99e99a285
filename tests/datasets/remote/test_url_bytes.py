"""Bytes at URLs of every protocol, from servers of this machine that answer well or badly."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

from netpart.data.images.image_tree import open_image_tree
from netpart.data.open_bytes import open_bytes
from netpart.data.remote.block_cache import BLOCK
from netpart.data.remote.url_bytes import RUN
from netpart.data.remote.url_listing import list_tree, list_urls
from netpart.data.remote.url_path import UrlPath, UrlSettings, parse_url
from netpart.data.stores.textfile import TextStore
from netpart.errors import DataError, MissingData
from tests.datasets.remote.servers import FileServer, gs_server, s3_server
from tests.thorough import sampled

CONTENT = np.random.default_rng(1).bytes((RUN + 2) * BLOCK + 12345)
SOON = 4.0
"""A deadline, in seconds: a third of it is the longest wait for one answer, also on a machine with other work."""


def settings(folder: Path, mib: int = 64, deadline: float = 20.0) -> UrlSettings:
    return UrlSettings(mib << 20, folder, deadline)


def check_bytes(url: UrlPath) -> None:
    """Ranges within and across blocks, and all blocks, are what is there."""
    file = open_bytes(url)
    assert file.size == len(CONTENT)
    for start, stop in ((0, 1), (BLOCK - 3, BLOCK + 3), (17, 5 * BLOCK), (len(CONTENT) - 9, len(CONTENT)), (7, 7)):
        assert file.read(start, stop) == CONTENT[start:stop]
    assert b"".join(part for _, part in file.blocks()) == CONTENT
    with pytest.raises(DataError, match=f"expected {len(CONTENT) + 1} bytes, got {len(CONTENT)}"):
        file.read(3, len(CONTENT) + 1)
    file.close()


@pytest.mark.parametrize("mib", [64, 2, 0])
def test_http(web: FileServer, tmp_path: Path, mib: int) -> None:
    web.files["/a.bin"] = CONTENT
    check_bytes(parse_url(f"http://{web.address}/a.bin?sig=1", settings(tmp_path, mib)))


@pytest.mark.parametrize("protocol", ["hdfs", "webhdfs"])
def test_webhdfs(hdfs: FileServer, tmp_path: Path, protocol: str) -> None:
    hdfs.files["/d/a.bin"] = CONTENT
    check_bytes(parse_url(f"{protocol}://{hdfs.address}/d/a.bin", settings(tmp_path)))
    found = list_urls(parse_url(f"{protocol}://{hdfs.address}/d/", settings(tmp_path)), ".bin")
    assert [str(url) for url in found] == [f"{protocol}://{hdfs.address}/d/a.bin"]


def test_s3(tmp_path: Path, keys: pytest.MonkeyPatch) -> None:
    with s3_server({"/listed/d/a.bin": CONTENT, "/listed/d/b.txt": b"x"}) as address:
        keys.setenv("AWS_ENDPOINT_URL", address)
        check_bytes(parse_url("s3://listed/d/a.bin", settings(tmp_path)))
        found = [str(url) for url in list_urls(parse_url("s3://listed/d/", settings(tmp_path)))]
        assert found == ["s3://listed/d/a.bin", "s3://listed/d/b.txt"]
        for gone, got in (
            ("s3://listed/none", "nothing there"),
            ("s3://nobucket/a", "no bucket nobucket; "),
        ):
            with pytest.raises(MissingData, match=f"^{gone}: expected a data file, got {got}"):
                TextStore(parse_url(gone, settings(tmp_path)))
        with pytest.raises(
            MissingData, match=r"^s3://nobucket/a/: expected a folder of images, got no bucket nobucket"
        ):
            open_image_tree(parse_url("s3://nobucket/a/", settings(tmp_path)))


@pytest.mark.slow
def test_gs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
    with gs_server({"/listed/d/a.bin": CONTENT, "/listed/d/b/c.txt": b"x"}) as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        check_bytes(parse_url("gs://listed/d/a.bin", settings(tmp_path)))
        found = [str(url) for url in list_urls(parse_url("gs://listed/d/", settings(tmp_path)))]
        assert found == ["gs://listed/d/a.bin", "gs://listed/d/b/c.txt"]
        tree = list_tree(parse_url("gs://listed/", settings(tmp_path)), "")
        assert (tree.folders, {*tree.files}) == (["d", "d/b"], {"d/a.bin", "d/b/c.txt"})
        for gone in ("gs://listed/none", "gs://nobucket/a"):
            with pytest.raises(MissingData, match=f"^{gone}: expected a data file, got nothing there"):
                TextStore(parse_url(gone, settings(tmp_path)))
    with pytest.raises(DataError, match=r"^gs://listed/d/a\.bin: expected the size of a file, got .* in 4 s"):
        open_bytes(parse_url("gs://listed/d/a.bin", settings(tmp_path, 0, 4.0)))


def test_a_server_that_is_set_later_is_used(tmp_path: Path, keys: pytest.MonkeyPatch) -> None:
    """Each file system keeps its server, so another server needs another file system, with the same deadline too."""
    for content in (b"first", b"second"):
        with s3_server({"/later/a": content}) as address:
            keys.setenv("AWS_ENDPOINT_URL", address)
            file = open_bytes(parse_url("s3://later/a", settings(tmp_path, 0, 3.0)))
            assert file.read(0, file.size) == content


def test_memory(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe_file("/m/a.bin", CONTENT)
    check_bytes(parse_url("memory://m/a.bin", settings(tmp_path)))
    assert not list(tmp_path.iterdir())


def test_every_byte_arrives_from_a_server_that_fails(web: FileServer, tmp_path: Path) -> None:
    """5 % of 800 requests fail: 503, a reset connection, an answer that ends early."""
    web.files["/a.bin"] = CONTENT
    web.mode = "flaky"
    for n in range(400 // (RUN + 3)):
        file = open_bytes(parse_url(f"http://{web.address}/a.bin?{n}", settings(tmp_path, 0)))
        places = range(0, len(CONTENT), BLOCK)
        assert b"".join(file.read(at, min(at + BLOCK, file.size)) for at in places) == CONTENT
    assert len(web.requests) > 400
    assert web.failed > 10


NOT_ANSWERED = [
    (
        "busy",
        r"got HTTP 503 \(Service Unavailable\) after \d+ requests in 4 s \(data_cache\.deadline\); look at the ser",
    ),
    ("silent", r"got no answer after \d requests in 4 s \(data_cache\.deadline\); check the host"),
    ("reset", r"got Connection reset by peer after \d+ requests in 4 s"),
    ("refused", r"got no access \(HTTP 403\); set NETRC .* or ask its owner"),
    ("loop", r"got redirects without end; correct the URL"),
]
READ = [
    (
        "short",
        r"got an answer that ended before its length after \d+ requests in 4 s .*; check that the file is complete",
    ),
    ("whole", r"got bytes from the start of the file; its server ignores ranges: copy the file"),
]


def refused(web: FileServer, mode: str, read: bool, message: str) -> None:
    """What a server in ``mode`` does at the opening of a file, or at a read, is one error in time."""
    web.files["/a.bin"] = CONTENT
    url = parse_url(f"http://{web.address}/a.bin?sig=SECRET", UrlSettings(0, None, SOON))
    file = open_bytes(url) if read else None
    web.mode = mode
    start = monotonic()
    with pytest.raises(DataError, match=message) as found:
        file.read(BLOCK, BLOCK + 1) if file else open_bytes(url)
    assert str(found.value).startswith(f"http://{web.address}/a.bin: expected ")
    assert "SECRET" not in str(found.value)
    assert monotonic() - start < 3 * SOON


@pytest.mark.parametrize(("mode", "message"), sampled(NOT_ANSWERED, 3))
def test_a_file_that_cannot_be_opened_is_one_error(web: FileServer, mode: str, message: str) -> None:
    refused(web, mode, False, message)


@pytest.mark.parametrize(("mode", "message"), sampled(NOT_ANSWERED + READ, 3))
def test_a_range_that_cannot_be_read_is_one_error(web: FileServer, mode: str, message: str) -> None:
    refused(web, mode, True, message)


@pytest.mark.parametrize(("mode", "message"), sampled([*NOT_ANSWERED[:3], READ[0]], 2))
def test_errors_of_webhdfs(hdfs: FileServer, mode: str, message: str) -> None:
    hdfs.files["/a.bin"] = CONTENT
    file = open_bytes(parse_url(f"hdfs://{hdfs.address}/a.bin", UrlSettings(0, None, SOON)))
    hdfs.mode = mode
    with pytest.raises(DataError, match=message):
        file.read(5, 50)


def test_no_file_no_server_no_keys(web: FileServer, hdfs: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = UrlSettings(0, None, SOON)
    got = r"HTTP 404 \(Not Found\); correct the URL"
    with pytest.raises(MissingData, match=f"^http://{web.address}/none: expected a data file, got {got}"):
        TextStore(parse_url(f"http://{web.address}/none", soon))
    for gone in (f"hdfs://{hdfs.address}/none", "memory://none"):
        with pytest.raises(MissingData, match=f"^{gone}: expected a data file, got nothing there; correct the path"):
            TextStore(parse_url(gone, soon))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    with pytest.raises(DataError, match=r"Connect call failed .* after \d+ requests in 4 s .*; check the host's name"):
        open_bytes(parse_url(f"http://127.0.0.1:{closed}/x", soon))
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{web.address}")
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(
        DataError, match=r"^s3://bucket/x: .* got no access.*; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACC"
    ):
        open_bytes(parse_url("s3://bucket/x", UrlSettings(0, None, 21.0)))  # its own file system, without the keys


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from netpart.errors import NetpartError

    missing: Any = None
    monkeypatch.setitem(sys.modules, "s3fs", missing)
    with pytest.raises(NetpartError, match=r"s3://: expected s3fs, got .*; `pip install 'netpart\[remote\]'`"):
        open_bytes(parse_url("s3://bucket/x", UrlSettings(0, None, 4.2)))
