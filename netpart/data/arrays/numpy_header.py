"""Headers of NumPy's .npy format (numpy.lib.format): shape, dtype and order of an array."""

from __future__ import annotations

from io import BytesIO
from threading import Lock
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy

from netpart.data.arrays.row_array import ReadableBytes, StoredArray
from netpart.data.signatures import HEAD, guess_file_kind
from netpart.errors import DataError

HEADER = 1 << 14
"""Bytes that are read for a header. NumPy itself accepts headers of at most 10 000 characters."""
MAGIC = b"\x93NUMPY"
_ONE_AT_A_TIME = Lock()
"""In some releases of Python, literals that two threads parse at once raise SystemError (CPython's issue 106905)."""
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def open_npy_array(source: ReadableBytes, place: str, start: int = 0, stop: int | None = None) -> StoredArray:
    """Open the array whose header is at byte ``start`` of ``source``; it ends before ``stop``.

    Raises DataError for anything but a whole array of numbers in row-major order.
    """
    end = source.size if stop is None else stop
    head = source.read(start, min(start + HEADER, end))
    if not head.startswith(MAGIC):
        kind, use = guess_file_kind(head[:HEAD])
        hint = use or "save it with numpy.save"
        raise DataError(f"{place}: expected an array of NumPy (.npy), got {kind or 'something else'}; {hint}")
    shape, in_columns, dtype, length = parse_npy_header(head, place)
    if in_columns and len(shape) > 1:
        hint = "save numpy.ascontiguousarray(x)"
        raise DataError(f"{place}: expected an array in row-major order, got one in column-major order; {hint}")
    return StoredArray(source, start + length, shape, dtype, place, end)


def parse_npy_header(head: bytes, place: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, True for column-major order, dtype, and the length of the header in bytes. Raises DataError."""
    file = BytesIO(head)
    try:
        version = npy.read_magic(file)
        with _ONE_AT_A_TIME:
            shape, in_columns, dtype = _READERS[version](file)
    # A header is the text of a Python literal. What is no literal raises one of these, by where the parser gives up.
    except (ValueError, TypeError, KeyError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise DataError(f"{place}: expected a header of NumPy's, got {_first_line(error)}; save it anew") from error
    return shape, in_columns, dtype, file.tell()


def _first_line(error: Exception) -> str:
    """The first line of an error's text, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:100]
