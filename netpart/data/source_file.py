"""Rows of a NumPy file (.npy), or of a file of plain elements: bytes, or tokens of several bytes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.arrays.numpy_header import MAGIC, parse_npy_header
from netpart.data.byte_source import ByteSource
from netpart.data.open_bytes import missing_data, open_bytes
from netpart.data.record_order import RecordOrder
from netpart.data.remote.url_path import DataPath
from netpart.data.row_source import RowOutputs, RowSource
from netpart.errors import DataError, os_error_text
from netpart.spec import Region, Shape, relative_slices, whole_region

HEADER_BYTES = 1 << 16
"""Bytes in which the header of a NumPy file must end. NumPy's own headers have 128."""
SUFFIX = ".npy"
BYTE: np.dtype[Any] = np.dtype(np.uint8)
TOKENS = 1 << 31
"""A token is a whole number from 0 to before this."""


class SourceFile:
    """The rows of a NumPy file (rows, *sample), or those of ``shape`` in a file of plain elements if that is given.

    A last row of plain elements, which have the type ``element``, is padded with 0 if it is not full. ``integers``: the
    rows must be tokens. Raises DataError for a file that is missing, empty, too short or of another kind, and for a
    NumPy file of objects.
    """

    def __init__(
        self, path: DataPath, shape: Shape = (), integers: bool = False, element: np.dtype[Any] = BYTE
    ) -> None:
        self.path = path
        self._bytes = _open_rows(path)
        self.dtype = element
        self._start = 0
        self._integers = integers
        if shape:
            self.shape, self.count = shape, self._count_plain_rows(shape)
        else:
            self._read_header()
        if self.count < 1:
            raise DataError(f"{path}: expected one row or more, got none; write rows to it")

    def row(self, number: int) -> NDArray[Any]:
        """Row ``number``, of the file's dtype. Raises DataError for a token that is negative or too large."""
        nbytes = prod(self.shape) * self.dtype.itemsize
        start = self._start + number * nbytes
        content = self._bytes.read(start, min(start + nbytes, self._bytes.size)).ljust(nbytes, b"\0")
        values: NDArray[Any] = np.frombuffer(content, self.dtype).reshape(self.shape)
        if self._integers and values.size and not 0 <= int(values.min()) <= int(values.max()) < TOKENS:
            wrong = int(values.min()) if values.min() < 0 else int(values.max())
            raise DataError(
                f"{self.path}: row {number}: expected tokens from 0 to {TOKENS - 1}, got {wrong}; change it"
            )
        return values

    def _count_plain_rows(self, shape: Shape) -> int:
        """The number of rows of plain elements, a last one that is not full included."""
        size = self.dtype.itemsize
        if self._bytes.size % size:
            hint = "set token_conf.element to the type with which it was written, or write it anew"
            self._refuse(f"tokens of {size} bytes each", f"{self._bytes.size} bytes", hint)
        return -(-self._bytes.size // (prod(shape) * size))

    def _read_header(self) -> None:
        """Find shape, dtype and start of the elements of a NumPy file, and check that they are all there."""
        shape, fortran, self.dtype, self._start = self._parse_header()
        if fortran and len(shape) > 1:
            self._refuse("rows one after another (C order)", "Fortran order", "save np.ascontiguousarray of it")
        if self.dtype.kind not in ("iub" if self._integers else "iubf"):
            wanted = "whole numbers, as the net reads tokens" if self._integers else "numbers"
            self._refuse(wanted, str(self.dtype), "convert it with astype")
        if len(shape) < 2 or min(shape[1:]) < 1:
            self._refuse("an array (rows, *sample)", f"shape {shape}", "give it an axis of rows: array[None]")
        self.shape, self.count = shape[1:], shape[0]
        needed = self._start + prod(shape) * self.dtype.itemsize
        if self._bytes.size < needed:
            self._refuse(f"{needed} bytes for shape {shape}", f"{self._bytes.size}", "copy the file anew")

    def _parse_header(self) -> tuple[Shape, bool, np.dtype[Any], int]:
        """(shape, Fortran order, dtype, offset of the elements) of a NumPy file."""
        head = self._bytes.read(0, min(self._bytes.size, HEADER_BYTES))
        if not head.startswith(MAGIC):
            self._refuse("a NumPy file (.npy)", f"{head[:8]!r}", "write it with numpy.save")
        return parse_npy_header(head, str(self.path))

    def _refuse(self, expected: str, got: str, hint: str) -> None:
        raise DataError(f"{self.path}: expected {expected}, got {got}; {hint}")


class SourceFileRows(RowSource):
    """The rows of ``file`` in order, from the first one again after the last one; they have no labels.

    Row r of step s is row (s·batch + r) mod n.
    """

    def __init__(self, file: SourceFile, batch: int) -> None:
        self.shape = file.shape
        self._file = file
        self._order = RecordOrder(file.count, batch)

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        if out.label is not None:
            raise DataError(f"{self._file.path}: expected labels, got rows alone; name a layer that reads no labels")
        crop = relative_slices(box, whole_region(self.shape))
        for i, row in enumerate(self._order.records(step, lo, hi).tolist()):
            if out.data is not None:
                out.data[i] = self._file.row(row)[crop]


def _open_rows(path: DataPath) -> ByteSource:
    """Open the file at ``path``. Raises DataError."""
    try:
        return open_bytes(path)
    except FileNotFoundError as error:
        raise missing_data(path, "a file of rows", error, "correct --input") from None
    except OSError as error:
        raise DataError(f"{path}: expected a file of rows, got {os_error_text(error)}; correct --input") from error
