"""Decoders of the values of a store: from the bytes of one value to its elements and its label."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

from numpy.typing import NDArray

from netpart.data.stores.record import Record, decode_record
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError
from netpart.spec import Shape

Label: TypeAlias = int | NDArray[Any] | None
"""The label of a record, several labels (int32) or targets (floats) on one axis, or None."""
Decode = Callable[[bytes], tuple[NDArray[Any], Label]]
"""Value -> (elements: uint8, float32 or float64 in the shape of a row, label). Raises DataError."""

ReadRecord = Callable[[bytes], Record]
"""Value -> record. Raises DataError."""


def record_decoder(shape: Shape, read: ReadRecord = decode_record) -> Decode:
    """Return the decoder of values that ``read`` reads, RecordProto by default. A row gets ``shape`` if its number of
    elements fits, whatever shape the record contains."""

    def decode(value: bytes) -> tuple[NDArray[Any], Label]:
        record = read(value)
        if record.values.size != prod(shape):
            came = f"{record.values.size} (its shape: {shape_text(record.shape)})"
            raise DataError(
                f"expected {prod(shape)} elements for shape {shape_text(shape)}, got {came}; set store_conf.shape"
            )
        return record.values.reshape(shape), record.label

    return decode


def record_shape(store: RecordStore, read: ReadRecord = decode_record) -> Shape:
    """Return the shape of the first record of a store. Raises DataError if it is not a record or has no valid shape."""
    try:
        record = read(store.value(0))
    except DataError as error:
        raise DataError(f"{store.place(0)}: {error}") from error
    if not record.shape or prod(record.shape) != record.values.size:
        came = f"shape {shape_text(record.shape)} with {record.values.size} elements"
        raise DataError(
            f"{store.place(0)}: expected a shape that fits its elements, got {came}; check that it is a RecordProto"
        )
    return record.shape


def shape_text(shape: Shape) -> str:
    """The shape as errors show it: 3x32x32."""
    return "x".join(map(str, shape)) or "()"
