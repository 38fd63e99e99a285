"""LMDB stores, written by LMDB itself, are read in the order of their keys without mapping them."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import lmdb
import pytest

from netpart.data.stores.lmdb_store import LmdbStore
from netpart.errors import DataError, MissingData

SIZES = (1, 10, 1900, 2030, 3000, 9000)
"""Bytes of values: within a page, at its end, and on pages of their own."""


def written(folder: Path, count: int, seed: int = 0) -> dict[bytes, bytes]:
    """A store whose keys came in another order, and of which a fifth was deleted and others were changed."""
    draw = random.Random(seed)
    keys = [b"%0*d" % (draw.choice((4, 9)), i) for i in range(count)]
    draw.shuffle(keys)
    found = {key: draw.randbytes(draw.choice(SIZES)) for key in keys}
    with lmdb.open(str(folder), map_size=1 << 28) as environment:
        with environment.begin(write=True) as transaction:
            for key, value in found.items():
                transaction.put(key, value)
        with environment.begin(write=True) as transaction:
            for key in keys[: count // 5]:
                transaction.delete(key)
                del found[key]
            for key in keys[-(count // 5) :]:
                found[key] = found[key][::-1] + b"x"
                transaction.put(key, found[key])
    return found


@pytest.mark.parametrize("count", [1, 2, 50, 3000])
def test_records_come_in_the_order_of_their_keys(count: int, tmp_path: Path) -> None:
    expected = written(tmp_path, count, seed=count)
    with LmdbStore(tmp_path) as store:
        assert [store.key(i) for i in range(len(store))] == sorted(expected)
        assert [store.value(i) for i in range(len(store))] == [expected[key] for key in sorted(expected)]
    with LmdbStore(tmp_path / "data.mdb") as store:
        assert len(store) == len(expected)


def test_nothing_is_written_to_the_folder(tmp_path: Path) -> None:
    written(tmp_path, 20)
    (tmp_path / "lock.mdb").unlink()
    before = (tmp_path / "data.mdb").read_bytes()
    LmdbStore(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir()] == ["data.mdb"]
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_truncated_store_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 3000)
    path = tmp_path / "data.mdb"
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(DataError, match=r"data\.mdb: page \d+: expected .*, got .*; copy the store anew"):
        LmdbStore(tmp_path)


def test_a_circle_of_pages_ends(tmp_path: Path) -> None:
    written(tmp_path, 3000)
    path = tmp_path / "data.mdb"
    content = bytearray(path.read_bytes())
    meta = max((0, 4096), key=lambda at: struct.unpack_from("<Q", content, at + 144)[0])
    (root,) = struct.unpack_from("<Q", content, meta + 128)
    page = root * 4096
    assert struct.unpack_from("<H", content, page + 10) == (1,)
    (node,) = struct.unpack_from("<H", content, page + 16)
    struct.pack_into("<HHH", content, page + node, root & 0xFFFF, root >> 16, 0)
    path.write_bytes(content)
    with pytest.raises(DataError, match="expected a tree of pages, got a circle"):
        LmdbStore(tmp_path)


def test_a_database_in_a_database_is_refused(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), max_dbs=1) as environment:
        inner = environment.open_db(b"inner")
        with environment.begin(write=True) as transaction:
            transaction.put(b"a", b"b", db=inner)
    with pytest.raises(DataError, match="expected one value per key, got a database in the database"):
        LmdbStore(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\x89PNG" + bytes(9999), "got a PNG image"), (bytes(9999), "got another file"), (b"1,2,3\n", "got a text file")],
)
def test_what_is_no_lmdb(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(DataError, match=f"expected an LMDB store, {said}"):
        LmdbStore(tmp_path)


def test_an_empty_store_and_none(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="got nothing there"):
        LmdbStore(tmp_path)
    lmdb.open(str(tmp_path)).close()
    with pytest.raises(DataError, match="expected at least one record, got none"):
        LmdbStore(tmp_path)
