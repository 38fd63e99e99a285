"""Bytes of a file by their places; of a file that shrinks meanwhile, an error and no signal."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path

import pytest

from netpart.data.byte_source import AHEAD, BLOCK, ReadAhead
from netpart.data.file_bytes import FileBytes
from netpart.data.stores import textfile
from netpart.data.stores.kvfile import KvStore
from netpart.data.stores.textfile import TextStore
from netpart.errors import DataError
from tests.datasets.samples import kv_bytes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file longer than what is read together."""
    found = tmp_path / "a.bin"
    found.write_bytes(bytes(range(256)) * (3 * BLOCK // 512))
    return found


def test_any_part_and_all_blocks_are_what_is_there(path: Path) -> None:
    content, file = path.read_bytes(), FileBytes(path)
    assert file.size == len(content)
    assert file.read(300, 70_000) == content[300:70_000]
    assert b"".join(block for _, block in file.blocks()) == content
    ahead, places = ReadAhead(file), (0, 8, AHEAD - 4, AHEAD + 4, 5 * AHEAD, len(content) - 8)
    assert [ahead.read(at, 8) for at in places] == [content[at : at + 8] for at in places]


def test_it_is_closed_with_its_last_reference(path: Path) -> None:
    file = FileBytes(path)
    assert open_files().count(str(path)) == 1
    del file
    gc.collect()
    assert str(path) not in open_files()


def open_files() -> list[str]:
    """The files that this process has open. One may be closed by another thread while they are listed."""
    found = list[str]()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(os.readlink(descriptor))
    return found


def test_a_file_that_shrinks_is_an_error_that_names_it(path: Path) -> None:
    file = FileBytes(path)
    os.truncate(path, 100)
    with pytest.raises(DataError, match=rf"a\.bin: expected {file.size} bytes, got 100: it was truncated while"):
        file.read(50, 200)
    assert file.read(50, 100) == bytes(range(50, 100))


@pytest.mark.parametrize("kind", [KvStore, TextStore])
def test_a_store_that_shrinks_says_so(kind: type[KvStore | TextStore], tmp_path: Path) -> None:
    whole = kv_bytes([(b"k", b"v" * 9000), (b"l", b"\nw" * 4500)])
    (tmp_path / "a").write_bytes(whole)
    with kind(tmp_path / "a") as store:
        os.truncate(tmp_path / "a", 0)
        with pytest.raises(DataError, match=rf"a: expected {len(whole)} bytes, got 0: it was truncated"):
            store.value(len(store) - 1)


def test_a_line_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textfile, "LONGEST", BLOCK)
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    os.truncate(tmp_path / "a.csv", 1 << 40)
    with pytest.raises(DataError, match=r"a\.csv:3: expected lines of at most 1\.0 MiB, got a longer one"):
        TextStore(tmp_path / "a.csv")


def test_a_hole_holds_no_records(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(kv_bytes([(b"k", b"v")]))
    os.truncate(tmp_path / "a.bin", 1 << 40)
    with pytest.raises(DataError, match=r"a\.bin: byte 26, record 1: expected a value of 1 to \d+ bytes, got one of 0"):
        KvStore(tmp_path / "a.bin")
