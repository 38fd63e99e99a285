from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.stores.kvfile import KvStore, KvWriter
from netpart.errors import DataError
from tests.datasets.samples import kv_bytes

RECORDS = st.lists(st.tuples(st.binary(max_size=9), st.binary(min_size=1, max_size=40)), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kv")


@given(records=RECORDS.map(lambda pairs: list(dict(pairs).items())))
def test_what_is_put_comes_back_in_singas_layout(folder: Path, records: list[tuple[bytes, bytes]]) -> None:
    path = folder / "train.bin"
    with KvWriter(path) as writer:
        for key, value in records:
            writer.put(key, value)
    assert path.read_bytes() == kv_bytes(records)
    with KvStore(path) as store:
        assert [(store.key(i), store.value(i)) for i in range(len(store))] == records


@given(records=RECORDS)
def test_a_file_cut_anywhere_holds_whole_records_or_is_refused(
    folder: Path, records: list[tuple[bytes, bytes]]
) -> None:
    content = kv_bytes(records)
    whole = [len(kv_bytes(records[:n])) for n in range(1, len(records) + 1)]
    path = folder / "cut.bin"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        if length in whole:
            with KvStore(path) as store:
                assert len(store) == whole.index(length) + 1
        else:
            with pytest.raises(DataError, match=r"cut\.bin"):
                KvStore(path)


@given(junk=st.binary(max_size=120))
def test_any_bytes_are_a_store_or_a_data_error(folder: Path, junk: bytes) -> None:
    path = folder / "junk.bin"
    path.write_bytes(junk)
    try:
        store = KvStore(path)
    except DataError:
        return
    with store:
        assert sum(16 + len(store.key(i)) + len(store.value(i)) for i in range(len(store))) == len(junk)


def test_the_complaint_names_file_byte_and_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    whole = kv_bytes([(b"k", b"vvv")])
    path.write_bytes(whole + b"\x01\0\0\0\0\0\0\0k\x09\0\0\0\0\0\0\0vv")
    with pytest.raises(
        DataError, match=r"train\.bin: byte 37, record 1: expected a value of 9 bytes, got 2 more"
    ) as info:
        KvStore(path)
    assert f"`truncate --size={len(whole)}` keeps the 1 whole records" in str(info.value)


def test_a_length_beyond_64_bits_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    path.write_bytes(b"\xff" * 8 + b"key")
    with pytest.raises(DataError, match=f"a key of {2**64 - 1} bytes, got 3 more; is it a kvfile"):
        KvStore(path)


def test_a_folder_means_its_shard(tmp_path: Path) -> None:
    (tmp_path / "shard.dat").write_bytes(kv_bytes([(b"k", b"v")]))
    with KvStore(tmp_path) as store:
        assert (len(store), store.value(0)) == (1, b"v")


def test_values_outlive_the_store(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    path.write_bytes(kv_bytes([(b"k", b"v")]))
    with KvStore(path) as store:
        value = store.value(0)
        with pytest.raises(IndexError):
            store.value(1)
    assert value == b"v"
    with pytest.raises(ValueError, match="closed"):
        store.value(0)


@pytest.mark.parametrize(("key", "value"), [(b"k", b"again"), (b"new", b"")])
def test_duplicate_keys_and_empty_values_are_refused_and_leave_nothing(
    tmp_path: Path, key: bytes, value: bytes
) -> None:
    path = tmp_path / "made" / "train.bin"

    def write() -> None:
        with KvWriter(path) as writer:
            writer.put(b"k", b"v")
            writer.put(key, value)

    with pytest.raises(DataError, match=r"train\.bin: expected"):
        write()
    assert list(path.parent.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    path.write_bytes(kv_bytes([(b"old", b"v")]))
    with KvWriter(path) as writer:
        writer.put(b"new", b"v")
        with KvStore(path) as store:
            assert store.key(0) == b"old"
    with KvStore(path) as store:
        assert store.key(0) == b"new"
    assert list(tmp_path.iterdir()) == [path]
