"""Packing: offsets for pieces of memory, each needed for an interval of time, in as little memory as possible.

No packing is smaller than the memory needed at the fullest moment, and finding the smallest is NP-hard (dynamic storage
allocation: Garey and Johnson, 1979, SR2). Here pieces are placed one after another, each at the lowest offset where it
fits. The pieces of the fullest moment come first, the longest-lived of them first: what forward keeps for backward
forms stairs.

    offset  │     ┌───┐
            │   ┌─┴h3─┴─┐ ┌──┐       then the rest, the largest first: they lie on the stairs
            │ ┌─┴──h2───┴─┤dx│
            │ │    h1     │  │
            └─┴───────────┴──┴─▶ time

Then the piece that ends highest, or the first that ends no lower than the best packing so far, moves halfway to the
front, and all pieces are placed again (squeaky wheel optimization: Joslin and Clements, 1999). This is repeated until
the lower bound is reached or the tries are used up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

TRIES, EFFORT = 64, 1 << 13
"""The most packings that are tried, and the most pieces placed in all of them except the first: the time of a try grows
with the square of the number of pieces."""


def pack_memory(pieces: Ints) -> tuple[Ints, int]:
    """Offsets of ``pieces`` (n, 3), rows of first moment, last moment and size, and the end of the highest one.

    Pieces that have a moment in common do not overlap. The same pieces in the same order always get the same offsets.
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
    """The memory needed at each moment, from moment 0 to the one after the last."""
    change = np.zeros(pieces[:, 1].max(initial=-1) + 2, np.int64)
    np.add.at(change, pieces[:, 0], pieces[:, 2])
    np.subtract.at(change, pieces[:, 1] + 1, pieces[:, 2])
    return change.cumsum()


def _packing_order(pieces: Ints, fullest: int) -> list[int]:
    """The indices of the pieces in the order in which they are placed in the first try."""
    first, last, size = pieces.T
    there = (first <= fullest) & (fullest <= last)
    # lexsort's last key counts most: pieces of the fullest moment first, the longest-lived first; the rest by size.
    return list(np.lexsort((-size, np.where(there, first - last, 0), ~there)).tolist())


def stack_pieces(pieces: Ints, limit: int) -> Ints:
    """The end of each piece, placed in turn at the lowest offset where it fits.

    Stops after the first piece that ends at ``limit`` or above: such a packing is no better than the best one so far.
    """
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
    """The lowest offset where ``size`` fits between the occupied ranges from ``starts`` to ``ends``."""
    order = starts.argsort()
    # The running maximum of the ends: ranges of pieces that do not meet each other may overlap.
    tops = np.concatenate([[0], np.maximum.accumulate(ends[order])])
    fits = starts[order] - tops[:-1] >= size
    return int(tops[fits.argmax()] if fits.any() else tops[-1])
