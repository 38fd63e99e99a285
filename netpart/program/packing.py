"""Packing: pieces of memory, each needed from one moment to another, in as little of it as can be.

No packing is smaller than what is needed at the fullest moment, and to find the smallest is NP-hard (dynamic storage
allocation: Garey and Johnson, 1979, SR2). Here pieces come one after the other, each to the lowest place where it fits.
First come those of the fullest moment, the longest-lived first, for what forward leaves to backward makes stairs:

    offset  │     ┌───┐
            │   ┌─┴h3─┴─┐ ┌──┐       then the rest, the largest first: they lie on the stairs
            │ ┌─┴──h2───┴─┤dx│
            │ │    h1     │  │
            └─┴───────────┴──┴─▶ time

Who then ends no lower than all did in the best packing so far moves halfway to the front, and all are packed again
(squeaky wheel optimization: Joslin and Clements, 1999), until there is nothing to win or tries are used up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

TRIES, EFFORT = 64, 1 << 13
"""Packings that are tried at most, and pieces in all of them together but the first: what a try takes grows with the
square of the pieces."""


def pack_memory(pieces: Ints) -> tuple[Ints, int]:
    """Offsets of ``pieces`` (n, 3), which are rows of first moment, last moment and size, and where the highest ends.

    Those that have a moment in common lie apart. The same pieces in the same order always lie the same.
    """
    offsets = np.zeros(len(pieces), np.int64)
    top = np.iinfo(np.int64).max
    needed = memory_load(pieces)
    order = _packing_order(pieces, int(needed.argmax()))
    for _ in range(min(TRIES, 1 + EFFORT // len(order)) if order else 0):
        ends = stack_pieces(pieces[order], top)
        highest = int(ends.argmax())
        if ends[highest] < top:
            offsets[order] = ends - pieces[order, 2]
            top = int(ends[highest])
        if top == needed.max():
            break
        order.insert(highest // 2, order.pop(highest))
    return offsets, top if order else 0


def memory_load(pieces: Ints) -> Ints:
    """What is needed at each moment, from 0 to the one after the last."""
    change = np.zeros(pieces[:, 1].max(initial=-1) + 2, np.int64)
    np.add.at(change, pieces[:, 0], pieces[:, 2])
    np.subtract.at(change, pieces[:, 1] + 1, pieces[:, 2])
    return change.cumsum()


def _packing_order(pieces: Ints, fullest: int) -> list[int]:
    """The pieces in the order in which they come first."""
    first, last, size = pieces.T
    there = (first <= fullest) & (fullest <= last)
    return list(np.lexsort((-size, np.where(there, first - last, 0), ~there)).tolist())


def stack_pieces(pieces: Ints, limit: int) -> Ints:
    """Where each piece ends that is laid in its turn where it fits, up to the first that ends at ``limit`` or above."""
    first, last, size = pieces.T.copy()
    ends = np.empty(len(pieces), np.int64)
    for n in range(len(pieces)):
        meeting = (first[:n] <= last[n]) & (last[:n] >= first[n])
        tops = ends[:n][meeting]
        ends[n] = lowest_gap(tops - size[:n][meeting], tops, size[n]) + size[n]
        if ends[n] >= limit:
            return ends[: n + 1]
    return ends


def lowest_gap(starts: Ints, ends: Ints, size: int) -> int:
    """The lowest offset where ``size`` fits between the taken ranges from ``starts`` to ``ends``."""
    order = starts.argsort()
    tops = np.concatenate([[0], np.maximum.accumulate(ends[order])])
    fits = starts[order] - tops[:-1] >= size
    return int(tops[fits.argmax()] if fits.any() else tops[-1])
