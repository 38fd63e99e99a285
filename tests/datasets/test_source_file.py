"""Rows of NumPy files and of bytes: in order, wrapped at the end, and nothing else is accepted."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.data.source_file import SourceFile, SourceFileRows
from netpart.errors import DataError


@pytest.fixture
def rows(tmp_path: Path) -> np.ndarray[Any, Any]:
    """Seven rows of (2, 3), saved as ``a.npy``."""
    values = np.arange(42.0).reshape(7, 2, 3)
    np.save(tmp_path / "a.npy", values)
    return values


def test_rows_follow_the_file_and_wrap_around(tmp_path: Path, rows: np.ndarray[Any, Any]) -> None:
    source = SourceFileRows(SourceFile(tmp_path / "a.npy"), 3)
    for step in range(4):
        found = np.empty((3, 2, 3))
        source.read(step, 0, 3, found, None)
        assert np.array_equal(found, rows[[(3 * step + r) % 7 for r in range(3)]])


def test_a_part_reads_its_rows_and_its_box(tmp_path: Path, rows: np.ndarray[Any, Any]) -> None:
    found = np.empty((2, 1, 2))
    SourceFileRows(SourceFile(tmp_path / "a.npy"), 3).read(1, 1, 3, found, None, ((1, 2), (1, 3)))
    assert np.array_equal(found, rows[4:6, 1:2, 1:3])


@pytest.mark.parametrize("dtype", ["u1", "i2", ">i4", "f4", ">f8", "?"])
def test_any_numbers_are_converted(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[0, 1], [1, 1]], dtype))
    found = np.empty((2, 2), np.float32)
    SourceFileRows(SourceFile(tmp_path / "a.npy"), 2).read(0, 0, 2, found, None)
    assert found.tolist() == [[0, 1], [1, 1]]


def test_bytes_become_windows_and_the_last_one_is_padded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abcdefgh")
    file = SourceFile(tmp_path / "a.txt", (3,), integers=True)
    assert file.count == 3
    assert b"".join(file.row(r).tobytes() for r in range(3)) == b"abcdefgh\0"


def header(shape: str, descr: str = "'<f8'", order: str = "False") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def saved(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", r"expected a NumPy file \(.npy\), got b''; write it with numpy.save"),
    "foreign": (b"\x89PNG" * 9, "expected a NumPy file"),
    "cut header": (saved(np.ones((4, 4)))[:40], "expected a header of NumPy"),
    "nonsense": (b"\x93NUMPY\x01\x00\x10\x00" + b"[[[[[[[[[[[[[[[[", "expected a header of NumPy"),
    "cut": (saved(np.ones((4, 4)))[:-1], r"expected 256 bytes for shape \(4, 4\), got 255; copy the file anew"),
    "huge": (header("(1000000000000, 8)"), "expected 6400000000"),
    "negative": (header("(-3, 8)"), "expected"),
    "flat": (saved(np.ones(4)), r"expected an array \(rows, \*sample\), got shape \(4,\)"),
    "no rows": (saved(np.ones((0, 4))), "expected one row or more, got none"),
    "objects": (header("(2, 2)", "'|O'"), "expected numbers, got object; convert it"),
    "complex": (saved(np.ones((2, 2), complex)), "expected numbers, got complex128"),
    "structs": (header("(2, 2)", "[('a', '<f8')]"), "expected numbers"),
    "by columns": (saved(np.ones((2, 3)).T), "expected rows one after another"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_used_is_named(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=f"a.npy: {message}"):
        SourceFile(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "got nothing there; correct --input"),
        (os.mkfifo, "got a pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "got a device"),
        (Path.mkdir, "got a folder"),
        (lambda path: path.symlink_to(path.name), "expected a file of rows, got"),
    ],
)
def test_what_is_no_file_is_refused(make: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    make(tmp_path / "a.npy")
    with pytest.raises(DataError, match=message):
        SourceFile(tmp_path / "a.npy")


def test_tokens_are_whole_numbers_of_32_bits(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, -4], [1 << 40, 0]]))
    file = SourceFile(tmp_path / "a.npy", integers=True)
    assert file.row(0).tolist() == [1, 2]
    with pytest.raises(DataError, match=r"a.npy: row 1: expected tokens from 0 to 2147483647, got -4"):
        file.row(1)
    with pytest.raises(DataError, match=r"row 2: .* got 1099511627776"):
        file.row(2)
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    with pytest.raises(DataError, match="expected whole numbers, as the net reads tokens, got float64"):
        SourceFile(tmp_path / "a.npy", integers=True)


def test_a_file_that_shrinks_is_named(tmp_path: Path, rows: np.ndarray[Any, Any]) -> None:
    file = SourceFile(tmp_path / "a.npy")
    os.truncate(tmp_path / "a.npy", 200)
    with pytest.raises(DataError, match="truncated while it was read"):
        file.row(6)


def test_there_are_no_labels(tmp_path: Path, rows: np.ndarray[Any, Any]) -> None:
    with pytest.raises(DataError, match="expected labels, got rows alone"):
        SourceFileRows(SourceFile(tmp_path / "a.npy"), 3).read(0, 0, 3, None, np.empty(3, np.int32))
