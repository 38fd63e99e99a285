"""Decoder of the records of kMnist: square grey images, x / norm_a − norm_b."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.resize import resize_array
from netpart.data.stores.decode import Decode
from netpart.data.stores.record import decode_record
from netpart.errors import DataError
from netpart.spec import Shape


def mnist_shape(shape: Shape, size: int = 0) -> tuple[int, int]:
    """Return the shape (s, s) of a decoded image. ``size`` is ``mnist_conf.resize`` (0: as stored).

    Raises DataError unless the record is one square grey image: (s, s) or (1, s, s).
    """
    square = shape[1:] if len(shape) == 3 and shape[0] == 1 else shape
    if len(square) != 2 or square[0] != square[1]:
        raise DataError(f"expected a square grey image, got shape {shape}; use kRecordInput for other records")
    return (size, size) if size else (square[0], square[1])


def mnist_decoder(
    norm_a: float = 1.0, norm_b: float = 0.0, size: int = 0, dtype: DTypeLike = np.float32
) -> Decode:  # fmt: skip
    """Return the decoder of RecordProto values to (s, s) of ``dtype``, normalised and, if ``size`` is not 0, resized
    bilinearly to it."""

    def decode(value: bytes) -> tuple[NDArray[Any], int | None]:
        record = decode_record(value)
        height, width = mnist_shape(record.shape)
        if record.values.size != height * width:
            raise DataError(f"expected {height * width} pixels for shape {record.shape}, got {record.values.size}")
        image = record.values.reshape(height, width).astype(dtype)
        image = resize_array(image, (size, size), dtype) if size and size != height else image
        return image / norm_a - norm_b, record.label

    return decode
