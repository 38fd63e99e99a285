"""Decoders: from the bytes of one value to its elements and its label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.mapped import Store
from netpart.data.record import decode_record
from netpart.errors import DataError
from netpart.spec import Shape

Decode = Callable[[bytes], tuple[NDArray[Any], int | None]]
"""Value -> (elements: uint8, float32 or float64 in the shape of a row, label or None). Raises DataError."""

_INT32 = range(-(2**31), 2**31)


def record_decoder(shape: Shape) -> Decode:
    """Decodes RecordProto values; rows take ``shape``, whatever shape the record names, if the counts agree."""

    def decode(value: bytes) -> tuple[NDArray[Any], int | None]:
        record = decode_record(value)
        if record.values.size != prod(shape):
            came = f"{record.values.size} (its shape: {_text(record.shape)})"
            raise DataError(
                f"expected {prod(shape)} elements for shape {_text(shape)}, got {came}; set store_conf.shape"
            )
        return record.values.reshape(shape), record.label

    return decode


def csv_decoder(
    shape: Shape, separator: str = ",", has_label: bool = True, dtype: DTypeLike = np.float32
) -> Decode:  # fmt: skip
    """Decodes lines ``label,v1,v2,...`` (without the label if ``has_label`` is False) to floating-point ``dtype``."""
    kind = np.dtype(dtype)

    def decode(value: bytes) -> tuple[NDArray[Any], int | None]:
        columns = value.split(separator.encode())
        if len(columns) != has_label + prod(shape):
            wanted = f"{'a label and ' if has_label else ''}{prod(shape)} values for shape {_text(shape)}"
            raise DataError(f"expected {wanted}, got {len(columns)} columns; check store_conf.shape and separator")
        label = _label(columns[0]) if has_label else None
        return _numbers(columns, int(has_label), kind).reshape(shape), label

    return decode


def record_shape(store: Store) -> Shape:
    """The shape that the first record of a store names. Raises DataError if it is no record or names none."""
    try:
        record = decode_record(store.value(0))
    except DataError as error:
        raise DataError(f"{store.path}: record 0: {error}") from error
    if not record.shape or prod(record.shape) != record.values.size:
        came = f"shape {_text(record.shape)} with {record.values.size} elements"
        raise DataError(
            f"{store.path}: record 0: expected a shape that fits its elements, got {came}; is it a RecordProto?"
        )
    return record.shape


def _label(column: bytes) -> int:
    try:
        label = int(column)
    except ValueError:
        raise DataError(
            f"column 0: expected a label, a whole number from 0, got {_quote(column)}; number the classes; where there"
            " are none, say store_conf { has_label: false }"
        ) from None
    if label not in _INT32:
        raise DataError(f"column 0: expected a label of 32 bits, got {_quote(column)}")
    return label


def _numbers(columns: Sequence[bytes], first: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    numbers = np.array([_number(column, i) for i, column in enumerate(columns[first:], first)], np.float64)
    finite = np.abs(numbers) <= np.finfo(dtype).max
    if not finite.all():
        i = int(np.argmin(finite))
        raise DataError(f"column {first + i}: expected a finite {dtype}, got {_quote(columns[first + i])}")
    return numbers.astype(dtype)


def _number(column: bytes, i: int) -> float:
    try:
        return float(column)
    except ValueError:
        raise DataError(f"column {i}: expected a number, got {_quote(column)}") from None


def _quote(column: bytes) -> str:
    return repr(column[:40].decode(errors="replace"))


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "()"
