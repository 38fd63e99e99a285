"""The contiguous runs of a tensor's elements that a box covers, as few as possible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from math import prod

from netpart.spec import Region, Shape


def contiguous_runs(shape: Shape, box: Region) -> Iterator[tuple[int, int]]:
    """Yield (offset in the tensor, length), in elements, of the row-major runs of a box, in the box's order.

    Trailing axes that the box spans completely merge with the axis before them into one run. Raises ValueError if the
    box extends beyond the tensor.
    """
    if len(box) != len(shape) or not all(0 <= lo <= hi <= n for (lo, hi), n in zip(box, shape, strict=True)):
        raise ValueError(f"box {box} leaves a tensor of shape {shape}")
    split = len(shape)
    while split and box[split - 1] == (0, shape[split - 1]):
        split -= 1
    # Axes from ``split`` on are spanned completely, so any range of the axis before them is contiguous.
    inner = max(split - 1, 0)
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    lo, hi = (box[inner][0], box[inner][1]) if shape else (0, 1)
    stride = strides[inner] if shape else 1
    if lo == hi or not stride:
        return
    for place in product(*(range(a, b) for a, b in box[:inner])):
        yield sum(i * s for i, s in zip(place, strides, strict=False)) + lo * stride, (hi - lo) * stride


def range_start(shape: Shape, box: Region) -> int | None:
    """Where the only run of a box begins in the tensor, in elements; None if it has no run or several."""
    runs = list(islice(contiguous_runs(shape, box), 2))
    return runs[0][0] if len(runs) == 1 else None
