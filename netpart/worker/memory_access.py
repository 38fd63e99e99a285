"""Touched: the memory of a GPU that a bound instruction reads and writes, and what must therefore come after what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from netpart.kernels.op import Array
from netpart.program.buffers import View
from netpart.spec import intersect


class MemorySpan(NamedTuple):
    """Bytes from address ``low`` to ``high``, which are ``written`` or only read; of them, if it is a ``view`` of a
    buffer, only that."""

    low: int
    high: int
    written: bool
    view: View | None = None


Spans = tuple[MemorySpan, ...]


def memory_span(array: Array, written: bool, view: View | None = None) -> MemorySpan:
    """Where ``array`` lies."""
    last = sum((extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True))
    low = int(array.data.ptr)
    return MemorySpan(low, low + last + int(array.itemsize) if array.size else low, written, view)


def find_dependences(touched: Sequence[Spans | None]) -> list[list[int]]:
    """For each of several things done in order, what it must come after: of what it writes whatever reads or writes
    that, of what it reads whatever writes that. Left out is what follows from the others. None touches all memory."""
    found = list[list[int]]()
    behind = list[int]()
    table = SpanTable()
    barrier = set[int]()
    for n, spans in enumerate(touched):
        met = range(n) if spans is None else (i for one in spans for i in table.meeting(one))
        found.append([])
        behind.append(0)
        for i in sorted({*met, *barrier}, reverse=True):
            if not behind[n] >> i & 1:
                found[n].append(i)
                behind[n] |= behind[i] | 1 << i
        table.add(n, spans or ())
        barrier = {n} if spans is None else barrier
    return found


class SpanTable:
    """Spans, and whose they are."""

    def __init__(self) -> None:
        self.spans: list[MemorySpan] = []
        self.rows = np.empty((64, 4), np.int64)

    def add(self, owner: int, spans: Spans) -> None:
        """Notes those of ``owner``."""
        for one in spans:
            if len(self.spans) == len(self.rows):
                self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
            self.rows[len(self.spans)] = one.low, one.high, one.written, owner
            self.spans.append(one)

    def meeting(self, one: MemorySpan) -> Iterator[int]:
        """The owners of what has a byte in common with ``one``, where one of both writes."""
        low, high, written, owner = self.rows[: len(self.spans)].T
        for i in np.flatnonzero((low < one.high) & (one.low < high) & (written | one.written > 0)):
            if not _are_disjoint_views(self.spans[i].view, one.view):
                yield int(owner[i])


def _are_disjoint_views(a: View | None, b: View | None) -> bool:
    """True if both are boxes of one buffer that have no element in common, though they may lie interleaved."""
    return a is not None and b is not None and a.buffer == b.buffer and intersect(a.box, b.box) is None
