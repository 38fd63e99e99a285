"""Memory access: the GPU memory that bound instructions read and write, and the order that this requires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from netpart.kernels.op import Array
from netpart.program.buffers import View
from netpart.spec import intersect


class MemorySpan(NamedTuple):
    """The bytes from address ``low`` to ``high``, which are ``written`` or only read.

    If it is a ``view`` of a buffer, only the bytes of that view.
    """

    low: int
    high: int
    written: bool
    view: View | None = None


Spans = tuple[MemorySpan, ...]


def memory_span(array: Array, written: bool, view: View | None = None) -> MemorySpan:
    """The span of ``array``."""
    last = sum((extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True))
    low = int(array.data.ptr)
    return MemorySpan(low, low + last + int(array.itemsize) if array.size else low, written, view)


def find_dependences(touched: Sequence[Spans | None]) -> list[list[int]]:
    """For each of several actions in order, the earlier ones that it must follow.

    An action follows all that read or write what it writes, and all that write what it reads. Dependences implied by
    others are omitted. None stands for an action that touches all memory.
    """
    found = list[list[int]]()
    implied = list[int]()
    table = SpanTable()
    barrier = set[int]()
    for n, spans in enumerate(touched):
        met = range(n) if spans is None else (i for one in spans for i in table.meeting(one))
        found.append([])
        implied.append(0)
        # Latest first: an earlier action that a later one already implies is then skipped.
        for i in sorted({*met, *barrier}, reverse=True):
            if not implied[n] >> i & 1:
                found[n].append(i)
                # The sets are bits of one integer, so their union is one operation.
                implied[n] |= implied[i] | 1 << i
        table.add(n, spans or ())
        barrier = {n} if spans is None else barrier
    return found


class SpanTable:
    """Memory spans with their owners."""

    def __init__(self) -> None:
        self.spans: list[MemorySpan] = []
        # An array next to the list, so that one vectorised comparison finds all overlaps.
        self.rows = np.empty((64, 4), np.int64)

    def add(self, owner: int, spans: Spans) -> None:
        """Add the spans of ``owner``."""
        for one in spans:
            if len(self.spans) == len(self.rows):
                self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
            self.rows[len(self.spans)] = one.low, one.high, one.written, owner
            self.spans.append(one)

    def meeting(self, one: MemorySpan) -> Iterator[int]:
        """The owners of spans that share a byte with ``one``, where at least one of both writes."""
        low, high, written, owner = self.rows[: len(self.spans)].T
        for i in np.flatnonzero((low < one.high) & (one.low < high) & (written | one.written > 0)):
            if not _are_disjoint_views(self.spans[i].view, one.view):
                yield int(owner[i])


def _are_disjoint_views(a: View | None, b: View | None) -> bool:
    """True if both are boxes of one buffer without a common element. Their bytes may still interleave."""
    return a is not None and b is not None and a.buffer == b.buffer and intersect(a.box, b.box) is None
