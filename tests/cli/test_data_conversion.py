"""`netpart data array`, `csv`, `kvfile` and `cifar10`: what they write is what the source has."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netpart.data
from netpart.data.stores.record import decode_record
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from tests.cli.conftest import Netpart
from tests.datasets.samples import datum_store, pixels

LABELS = np.array([3, 1, 2])


def stored(path: Path) -> tuple[Any, list[int]]:
    """The arrays and labels of a kvfile."""
    with open_store("kvfile", path) as store:
        records = [decode_record(store.value(i)) for i in range(len(store))]
    return np.stack([each.values.reshape(each.shape) for each in records]), [each.label for each in records]


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64"])
def test_an_array(dtype: str, tmp_path: Path, netpart: Netpart) -> None:
    x = pixels(3, (2, 4)).astype(dtype)
    np.savez(tmp_path / "a.npz", x=x, y=LABELS)
    answer = netpart("data", "array", tmp_path / "a.npz", tmp_path / "a.bin", "--label", "y")
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'a.bin'}: made 3 records\n")
    values, labels = stored(tmp_path / "a.bin")
    assert values.dtype == ("uint8" if dtype == "uint8" else "float32")
    assert np.array_equal(values, x)
    assert labels == LABELS.tolist()


def test_an_array_and_labels_of_another_file(tmp_path: Path, netpart: Netpart) -> None:
    np.save(tmp_path / "x.npy", pixels(3, (2,)))
    np.save(tmp_path / "y.npy", LABELS)
    run = "data", "array", tmp_path / "x.npy", tmp_path / "a.bin"
    assert netpart(*run).code == 0
    assert stored(tmp_path / "a.bin")[1] == [0, 0, 0]
    assert netpart(*run, "--label-file", tmp_path / "y.npy").code == 0
    assert stored(tmp_path / "a.bin")[1] == LABELS.tolist()
    np.save(tmp_path / "y.npy", pixels(3, (2,)))
    answer = netpart(*run, "--label-file", tmp_path / "y.npy")
    assert "y.npy: expected one label per row, as records have, got shape (3, 2)" in answer.err
    assert stored(tmp_path / "a.bin")[1] == LABELS.tolist()


def test_a_csv_file(tmp_path: Path, netpart: Netpart) -> None:
    (tmp_path / "a.csv").write_text('id,kind,v,w\n"x,1",dog,1,2\n"x,2",cat,3,4.5\n')
    run = "data", "csv", tmp_path / "a.csv", tmp_path / "a.bin"
    columns = "--header", "--skip-column", "id", "--label-column", "kind", "--classes-file", tmp_path / "classes.txt"
    assert netpart(*run, *columns).out == f"{tmp_path / 'a.bin'}: made 2 records\n"
    values, labels = stored(tmp_path / "a.bin")
    assert (values.tolist(), labels) == ([[1, 2], [3, 4.5]], [1, 0])
    assert netpart(*run, *columns, "--shape", "1", "2").code == 0
    assert stored(tmp_path / "a.bin")[0].shape == (2, 1, 2)
    answer = netpart(*run, "--header")
    assert answer.code == 1
    assert "a.csv:2: column 2: expected a number, got 'dog'" in answer.err


def test_an_lmdb_store(tmp_path: Path, netpart: Netpart) -> None:
    images = pixels(3, (3, 2, 4))
    datum_store(tmp_path / "lmdb", images, LABELS)
    answer = netpart("data", "kvfile", tmp_path / "lmdb", tmp_path / "a.bin")
    assert answer.out == f"{tmp_path / 'a.bin'}: made 3 records\n"
    values, labels = stored(tmp_path / "a.bin")
    assert np.array_equal(values, images)
    assert labels == LABELS.tolist()


def cifar10(path: Path, folder: str = "cifar-10-batches-bin", rows: int = 2) -> dict[str, bytes]:
    """An archive as that of CIFAR-10, of fewer images; returns its files."""
    names = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
    files = {}
    with tarfile.open(path, "w:gz") as archive:
        for i, name in enumerate(names):
            batch = pixels(rows, (3073,), seed=i)
            batch[:, 0] %= 10
            files[name] = batch.tobytes()
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(files[name])
            archive.addfile(member, io.BytesIO(files[name]))
    return files


def test_cifar10(tmp_path: Path, netpart: Netpart) -> None:
    archive = tmp_path / "cifar-10-binary.tar.gz"
    files = cifar10(archive)
    answer = netpart("data", "cifar10", archive, tmp_path / "out")
    assert answer.out.startswith(f"{tmp_path / 'out'}: made 10 training and 2 test images: train_data.bin, ")
    values, labels = stored(tmp_path / "out" / "train_data.bin")
    assert values.shape == (10, 3, 32, 32)
    first = np.frombuffer(files["data_batch_1.bin"], np.uint8)
    assert labels[0] == first[0]
    assert np.array_equal(values[0].ravel(), first[1:3073])
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    assert netpart("data", "cifar10", folder, tmp_path / "again").code == 0
    assert np.array_equal(
        stored(tmp_path / "again" / "test_data.bin")[0], stored(tmp_path / "out" / "test_data.bin")[0]
    )


def test_what_is_no_cifar10(tmp_path: Path, netpart: Netpart) -> None:
    archive = tmp_path / "a.tar.gz"

    def said() -> str:
        return netpart("data", "cifar10", archive, tmp_path / "out").err

    assert "got nothing there; download cifar-10-binary.tar.gz again" in said()
    archive.write_bytes(b"\x1f\x8b" + bytes(99))
    assert "a.tar.gz: expected cifar-10-binary.tar.gz, got" in said()
    cifar10(archive)
    os.truncate(archive, archive.stat().st_size // 2)
    assert "a.tar.gz: expected cifar-10-binary.tar.gz, got" in said()
    with tarfile.open(archive, "w:gz") as empty:
        empty.addfile(tarfile.TarInfo("cifar-10-batches-py/data_batch_1"), io.BytesIO())
    assert "expected data_batch_1.bin of CIFAR-10's binary version, got none" in said()
    archive.unlink()
    os.mkfifo(archive)
    assert "got a pipe; save what it brings in a file" in said()


def write_rows(path: Path, *rows: Any) -> None:
    """Writes a store as a user does."""
    with netpart.data.KvWriter(path) as store:
        for row in rows:
            store.add(row)


def test_the_writer_of_users(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "a.bin"
    with netpart.data.KvWriter(str(path)) as store:
        for i in range(3):
            store.add(pixels(1, (2, 2), i)[0], label=i)
            assert not path.exists()
    values, labels = stored(path)
    assert labels == [0, 1, 2]
    assert np.array_equal(values[2], pixels(1, (2, 2), 2)[0])
    with pytest.raises(DataError, match="record 1: expected numbers, got object of shape"):
        write_rows(path, np.zeros(3), np.array([{}], dtype=object))
    assert stored(path)[1] == [0, 1, 2]
    assert [each.name for each in path.parent.iterdir()] == ["a.bin"]
    with pytest.raises(AttributeError, match="KvReader"):
        netpart.data.KvReader  # noqa: B018
