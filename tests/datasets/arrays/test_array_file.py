"""Arrays of .npy, .npz and HDF5 files are read row by row; other files are refused by their name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from netpart.data.arrays import npz_archive
from netpart.data.arrays.array_file import open_array
from netpart.errors import DataError, MissingData

X = np.random.default_rng(1).normal(size=(7, 3, 2))
DTYPES = ["bool", "uint8", "int16", "<i4", ">i4", "uint64", "float16", "float32", ">f8"]


def saved_npy(path: Path, x: np.ndarray[Any, Any]) -> Path:
    np.save(path, x)
    return path


def saved_npz(path: Path, x: np.ndarray[Any, Any]) -> Path:
    np.savez(path, x)
    return path


def saved_packed(path: Path, x: np.ndarray[Any, Any]) -> Path:
    np.savez_compressed(path, x)
    return path


def saved_hdf5(path: Path, x: np.ndarray[Any, Any], **options: Any) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("group/x", data=x, **options)
    return path


def saved_chunks(path: Path, x: np.ndarray[Any, Any]) -> Path:
    return saved_hdf5(path, x, chunks=(2, *x.shape[1:]), compression="gzip", shuffle=True)


WAYS: dict[str, Callable[[Path, np.ndarray[Any, Any]], Path]] = {
    "a.npy": saved_npy, "a.npz": saved_npz, "b.npz": saved_packed, "a.h5": saved_hdf5, "b.h5": saved_chunks,
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_that_were_saved(name: str, dtype: str, tmp_path: Path) -> None:
    x = (X * 50).astype(dtype)
    array = open_array(WAYS[name](tmp_path / name, x))
    assert (array.shape, array.dtype) == (x.shape, x.dtype)
    for lo, hi in ((0, 7), (3, 4), (5, 7), (0, 1)):
        assert np.array_equal(array.rows(lo, hi), x[lo:hi])


def test_only_the_rows_that_are_asked_for_are_read(tmp_path: Path) -> None:
    """A file that is truncated later is still read where it has its bytes, and an error elsewhere."""
    array = open_array(saved_npy(tmp_path / "a.npy", X))
    os.truncate(tmp_path / "a.npy", (tmp_path / "a.npy").stat().st_size - X[0].nbytes)
    assert np.array_equal(array.rows(0, 6), X[:6])
    with pytest.raises(DataError, match=r"a\.npy: expected .* truncated while it was read"):
        array.rows(6, 7)


def test_an_array_is_found_by_its_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=np.arange(7))
    assert open_array(tmp_path / "a.npz", "y").shape == (7,)
    assert open_array(tmp_path / "a.npz", others=["y"]).shape == X.shape
    with pytest.raises(DataError, match="expected one array, got the arrays x, y; name one of them as data"):
        open_array(tmp_path / "a.npz")
    with pytest.raises(DataError, match="expected 'z', got the arrays x, y; name one of them as label"):
        open_array(tmp_path / "a.npz", "z", field="label")
    with pytest.raises(DataError, match=r"a\.npy: expected an \.npz or HDF5 file with 'x', got another file"):
        open_array(saved_npy(tmp_path / "a.npy", X), "x")


OBJECTS = np.array([{}, None], dtype=object)
REFUSED: dict[str, tuple[Any, str]] = {
    "objects": (OBJECTS, "expected an array of numbers, got Python objects; netpart reads no pickles"),
    "text": (np.array(["a", "b"]), "expected an array of numbers, got <U1"),
    "complex": (X.astype(complex), "expected an array of numbers, got complex128"),
    "fields": (np.zeros(3, [("a", "i4")]), "expected an array of numbers, got"),
    "a scalar": (np.float32(3), r"expected an array with at least one row, got shape \(\)"),
    "no rows": (X[:0], r"expected an array with at least one row, got shape \(0, 3, 2\)"),
    "columns first": (np.asfortranarray(X), "expected an array in row-major order"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_array_that_is_no_rows_of_numbers_is_refused(kind: str, tmp_path: Path) -> None:
    array, said = REFUSED[kind]
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=said):
        open_array(tmp_path / "a.npy")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "gone off"),)

    np.save(tmp_path / "a.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", np.array([Bomb()], dtype=object))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(DataError):
            open_array(tmp_path / name)
    assert not (tmp_path / "gone off").exists()


HEADS = {
    b"": "got an empty file",
    b"\x93NUMPY": "expected a header of NumPy's, got",
    b"\x93NUMPY\x01\x00\xff\xff": "expected a header of NumPy's, got",
    b"\x93NUMPY\x09\x00\x05\x00{}   ": "expected a header of NumPy's, got",
    b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16: "expected a header of NumPy's, got",
    b"GIF89a" + bytes(99): "got a GIF image",
    b"PK\x03\x04" + bytes(99): r"expected an archive of arrays \(\.npz\), got File is not a zip file",
    b"\x89HDF\r\n\x1a\n" + bytes(99): "expected a readable HDF5 file, got",
}


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_a_file_that_is_no_array_is_refused(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(head)
    with pytest.raises(DataError, match=HEADS[head]):
        open_array(tmp_path / "a")


@pytest.mark.parametrize("name", WAYS)
def test_a_truncated_file_is_refused(name: str, tmp_path: Path) -> None:
    path = WAYS[name](tmp_path / name, X)
    os.truncate(path, path.stat().st_size - 40)
    with pytest.raises(DataError, match=f"{name}.*expected .*, got .*; "):
        open_array(path).rows(0, 7)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="expected a file with an array, got nothing there"):
        open_array(tmp_path / "a.npy")


def test_a_packed_member_that_unpacks_to_too_much_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz_archive, "MOST", 1 << 20)
    path = saved_packed(tmp_path / "a.npz", np.zeros(1 << 21, np.uint8))
    assert path.stat().st_size < 1 << 14
    with pytest.raises(DataError, match=r"arr_0: expected at most 1\.0 MiB if compressed, got 2\.0 MiB compressed"):
        open_array(path)


def test_arrays_of_other_files_are_not_followed(tmp_path: Path) -> None:
    saved_hdf5(tmp_path / "far.h5", X)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["link"] = h5py.ExternalLink(str(tmp_path / "far.h5"), "group/x")
        layout = h5py.VirtualLayout((7, 3, 2), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "far.h5"), "group/x", (7, 3, 2))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (4,), "f8", external=[(str(tmp_path / "raw"), 0, 32)])
    for name, said in (("link", "expected 'link'"), ("virtual", "one kept in others"), ("raw", "one kept in others")):
        with pytest.raises(DataError, match=said):
            open_array(tmp_path / "a.h5", name)
