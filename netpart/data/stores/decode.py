"""Decoders of the values of a store: from the bytes of one value to its elements and its label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.stores.record import Record, decode_record
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError
from netpart.spec import Shape

Decode = Callable[[bytes], tuple[NDArray[Any], int | None]]
"""Value -> (elements: uint8, float32 or float64 in the shape of a row, label or None). Raises DataError."""

ReadRecord = Callable[[bytes], Record]
"""Value -> record. Raises DataError."""

COLUMNS = "correct or delete the line, or check store_conf.shape and separator"
LABEL_FIRST = "the label is the first column"
NO_LABEL = "without labels, write store_conf { has_label: false }"
_INT32 = range(-(2**31), 2**31)


def record_decoder(shape: Shape, read: ReadRecord = decode_record) -> Decode:
    """Return the decoder of values that ``read`` reads, RecordProto by default. A row gets ``shape`` if its number of
    elements fits, whatever shape the record contains."""

    def decode(value: bytes) -> tuple[NDArray[Any], int | None]:
        record = read(value)
        if record.values.size != prod(shape):
            came = f"{record.values.size} (its shape: {_shape_text(record.shape)})"
            raise DataError(
                f"expected {prod(shape)} elements for shape {_shape_text(shape)}, got {came}; set store_conf.shape"
            )
        return record.values.reshape(shape), record.label

    return decode


def csv_decoder(
    shape: Shape, separator: str = ",", has_label: bool = True, dtype: DTypeLike = np.float32
) -> Decode:  # fmt: skip
    """Return the decoder of lines ``label,v1,v2,...`` (no label if ``has_label`` is False) to floats of ``dtype``."""
    kind = np.dtype(dtype)

    def decode(value: bytes) -> tuple[NDArray[Any], int | None]:
        columns = value.split(separator.encode())
        if len(columns) != has_label + prod(shape):
            wanted = f"{'a label and ' if has_label else ''}{prod(shape)} values for shape {_shape_text(shape)}"
            raise DataError(f"expected {wanted}, got {len(columns)} columns; {COLUMNS}")
        label = _parse_label(columns[0]) if has_label else None
        return _parse_numbers(columns, has_label, kind).reshape(shape), label

    return decode


def record_shape(store: RecordStore, read: ReadRecord = decode_record) -> Shape:
    """Return the shape of the first record of a store. Raises DataError if it is not a record or has no valid shape."""
    try:
        record = read(store.value(0))
    except DataError as error:
        raise DataError(f"{store.place(0)}: {error}") from error
    if not record.shape or prod(record.shape) != record.values.size:
        came = f"shape {_shape_text(record.shape)} with {record.values.size} elements"
        raise DataError(
            f"{store.place(0)}: expected a shape that fits its elements, got {came}; check that it is a RecordProto"
        )
    return record.shape


def _parse_label(column: bytes) -> int:
    try:
        label = int(column)
    except ValueError:
        wanted = "a label, a whole number from 0"
        raise _column_error(
            0, wanted, column, f"{LABEL_FIRST}: {_mend_hint(column)}, or number the classes; {NO_LABEL}"
        ) from None
    if label not in _INT32:
        raise _column_error(0, "a label of 32 bits", column, f"{LABEL_FIRST}: {NO_LABEL}")
    return label


def _parse_numbers(columns: Sequence[bytes], labelled: bool, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of a line, without its label, as ``dtype``. Raises DataError for a number that is not finite."""
    numbers = np.array([_parse_number(columns, i, labelled) for i in range(labelled, len(columns))], np.float64)
    # Tested in float64, before the conversion: a number beyond the range of ``dtype`` would become infinite.
    finite = np.abs(numbers) <= np.finfo(dtype).max
    if not finite.all():
        i = labelled + int(np.argmin(finite))
        raise _column_error(i, f"a finite {dtype}", columns[i], _mend_hint(columns[i]))
    return numbers.astype(dtype)


def _parse_number(columns: Sequence[bytes], i: int, labelled: bool) -> float:
    try:
        return float(columns[i])
    except ValueError:
        # A word in the last column is probably the label: many data sets have it there.
        last = labelled and i == len(columns) - 1 and columns[i].strip()
        hint = f"{_mend_hint(columns[i])}; {LABEL_FIRST}" if last else _mend_hint(columns[i])
        raise _column_error(i, "a number", columns[i], hint) from None


def _mend_hint(cell: bytes) -> str:
    return f"{'correct' if cell.strip() else 'fill'} it or delete the line"


def _column_error(i: int, expected: str, cell: bytes, hint: str) -> DataError:
    """Return an error about column ``i`` of a line; its text counts columns from 1."""
    return DataError(f"column {i + 1}: expected {expected}, got {_quote_cell(cell)}; {hint}")


def _quote_cell(column: bytes) -> str:
    return repr(column[:40].decode(errors="replace"))


def _shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "()"
