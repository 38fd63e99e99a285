"""Regions in messages: how they are written and read, their element types, and how a large one is split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from netpart.spec import Region, extent, size

PIECE_BYTES = 1 << 20
"""Most bytes of elements in one message."""


class BoxMessage(Protocol):
    """A message with the fields of a region."""

    @property
    def low(self) -> Any: ...

    @property
    def high(self) -> Any: ...


def write_box(message: BoxMessage, box: Region) -> None:
    """Write ``box`` into the fields of ``message``."""
    message.low.extend(lo for lo, _ in box)
    message.high.extend(hi for _, hi in box)


def read_box(message: BoxMessage) -> Region:
    """The region in the fields of ``message``, of anyone. Raises ValueError if they do not match."""
    return tuple(zip(message.low, message.high, strict=True))


def read_dtype(text: str, allowed: Sequence[str]) -> np.dtype[Any]:
    """The element type that a message names. Raises ValueError for one that is not ``allowed``."""
    # The name comes over the network: np.dtype would also accept object and structured types.
    if text not in allowed:
        raise ValueError(f"expected elements of {', '.join(allowed)}, got {text[:20]!r}")
    return np.dtype(text)


def split_box_by_bytes(box: Region, itemsize: int, limit: int = PIECE_BYTES) -> Iterator[Region]:
    """Split ``box`` into parts of at most ``limit`` bytes, by halving the longest axis recursively."""
    if size(box) * itemsize <= limit or size(box) <= 1:
        yield box
        return
    extents: Sequence[int] = extent(box)
    axis = max(range(len(box)), key=extents.__getitem__)
    (lo, hi) = box[axis]
    middle = lo + extents[axis] // 2
    for part in ((lo, middle), (middle, hi)):
        yield from split_box_by_bytes(box[:axis] + (part,) + box[axis + 1 :], itemsize, limit)
