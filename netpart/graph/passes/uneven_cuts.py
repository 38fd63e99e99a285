"""Uneven cuts: the ranges of an extent that does not divide by the number of parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

Ranges = tuple[tuple[int, int], ...]


def cut_extent(extent: int, parts: int, spread: bool) -> Ranges:
    """Cut ``extent`` into ``parts``: with ``spread`` evenly at floor(i*n/k), else the last takes the rest (8 on 3: 2,
    2, 4)."""
    bounds = [i * extent // parts if spread else i * (extent // parts) for i in range(parts)] + [extent]
    return tuple(pairwise(bounds))


def cut_by_sizes(sizes: Sequence[int], extent: int) -> Ranges:
    """Cut ``extent`` in proportion to ``sizes`` (equal to them if they sum to it)."""
    total = sum(sizes)
    bounds = [0, *(s * extent // total for s in accumulate(sizes))]
    return tuple(pairwise(bounds))
