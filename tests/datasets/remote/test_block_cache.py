"""The cache of blocks: bounded, shared by processes, and never wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from errno import ENOSPC
from pathlib import Path
from shutil import rmtree

import pytest

from netpart.data.open_bytes import open_bytes
from netpart.data.remote.block_cache import BLOCK, CHECK, BlockCache
from netpart.data.remote.url_path import UrlSettings, parse_url
from netpart.errors import DataError
from tests.datasets.remote.servers import FileServer

CONTENT = bytes(range(256)) * (4 * BLOCK // 256) + b"end"


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def whole(web: FileServer, folder: Path, mib: int = 64) -> bytes:
    file = open_bytes(parse_url(f"http://{web.address}/a", UrlSettings(mib << 20, folder)))
    return file.read(0, file.size)


def gets(web: FileServer) -> int:
    return sum(method == "GET" for method, _ in web.requests)


def test_what_was_read_is_not_requested_again(web: FileServer, tmp_path: Path) -> None:
    web.files["/a"] = CONTENT
    assert whole(web, tmp_path) == CONTENT
    assert (gets(web), len(kept(tmp_path))) == (1, 5)
    assert whole(web, tmp_path) == CONTENT
    assert gets(web) == 1
    assert not any(web.address.encode() in os.fsencode(path) for path in kept(tmp_path))


@pytest.mark.parametrize("damage", ["cut", "changed", "removed", "empty"])
def test_a_damaged_block_is_requested_again(web: FileServer, tmp_path: Path, damage: str) -> None:
    web.files["/a"] = CONTENT
    whole(web, tmp_path)
    path = kept(tmp_path)[2]
    if damage == "removed":
        path.unlink()
    elif damage == "changed":
        path.write_bytes(b"?" + path.read_bytes()[1:])
    else:
        os.truncate(path, 1000 if damage == "cut" else 0)
    assert whole(web, tmp_path) == CONTENT
    assert gets(web) == 2


def test_it_has_a_bound_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path, 4 << 20)
    for n in range(3):
        cache.put("key", n, bytes(BLOCK))
    for n, path in enumerate(kept(tmp_path)):
        os.utime(path, (1, 10 + n))
    used = cache.open_block("key", 0, BLOCK)
    assert used is not None
    os.close(used)
    for n in range(3, 20):
        cache.put("other", n, bytes(BLOCK))
        assert sum(path.stat().st_size for path in kept(tmp_path)) <= 4 << 20
        if n == 3:
            assert cache.open_block("key", 1, BLOCK) is None
            again = cache.open_block("key", 0, BLOCK)
            assert again is not None
            os.close(again)


def test_a_file_larger_than_the_cache_is_read(web: FileServer, tmp_path: Path) -> None:
    web.files["/a"] = CONTENT
    assert whole(web, tmp_path, 2) == whole(web, tmp_path, 2) == CONTENT
    assert sum(path.stat().st_size for path in kept(tmp_path)) <= 2 << 20


def test_many_files_share_the_bound(web: FileServer, tmp_path: Path) -> None:
    for n in range(12):
        web.files[f"/{n}"] = bytes([n]) * BLOCK
        file = open_bytes(parse_url(f"http://{web.address}/{n}", UrlSettings(4 << 20, tmp_path)))
        assert file.read(5, 9) == bytes([n]) * 4
        assert sum(path.stat().st_size for path in kept(tmp_path)) <= 4 << 20
    assert len(kept(tmp_path)) == 3


def test_a_folder_that_is_removed_is_made_again(web: FileServer, tmp_path: Path) -> None:
    web.files["/a"] = CONTENT
    whole(web, tmp_path / "c")
    rmtree(tmp_path / "c")
    assert whole(web, tmp_path / "c") == CONTENT
    assert len(kept(tmp_path / "c")) == 5


WRITER = """
import sys
from pathlib import Path
from netpart.data.remote.block_cache import BLOCK, BlockCache, is_intact
import os
cache = BlockCache(Path(sys.argv[1]), 8 << 20)
for turn in range(150):
    n = turn % 12
    found = cache.open_block("key", n, BLOCK)
    if found is None:
        cache.put("key", n, bytes([n]) * BLOCK)
    else:
        assert is_intact(found, BLOCK) and os.pread(found, 1, 5) == bytes([n])
        os.close(found)
"""


def test_processes_share_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    for writer in writers:
        assert writer.communicate(timeout=100)[1] == b""
        assert writer.returncode == 0
    files = kept(tmp_path)
    assert all(path.stat().st_size == BLOCK + CHECK and not path.name.endswith(".partial") for path in files)
    assert len(files) * BLOCK <= (8 + 4) << 20


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    left, fresh = tmp_path / "key" / ".0.1-1.partial", tmp_path / "key" / ".0.2-2.partial"
    for path in (left, fresh):
        path.write_bytes(b"x")
    os.utime(left, (1, 1))
    BlockCache(tmp_path, 4 << 20).put("key", 0, b"x")
    assert (left.exists(), fresh.exists()) == (False, True)


def test_a_full_disk_is_no_error(web: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    web.files["/a"] = CONTENT
    monkeypatch.setattr(os, "replace", full)
    assert whole(web, tmp_path) == CONTENT
    assert not kept(tmp_path)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        DataError, match=r"file/x: expected a folder to keep data in, got .*; name another in data_cach"
    ):
        BlockCache(tmp_path / "file" / "x", 1 << 20)
