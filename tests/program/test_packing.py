"""Pieces that are needed at once lie apart, in no more than is needed at the fullest moment where that is found."""

from __future__ import annotations

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netpart.program import packing
from netpart.program.packing import Ints, lowest_gap, memory_load, pack_memory, stack_pieces

Piece = tuple[int, int, int]
"""First moment, last moment and size."""
MOST = 1 << 40


def pieces(*rows: Piece) -> Ints:
    return np.array(rows, np.int64).reshape(-1, 3)


some = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 6)).map(lambda p: (min(p[:2]), max(p[:2]), p[2])),
    max_size=12,
)


@given(some)
def test_what_is_needed_at_once_lies_apart(rows: list[Piece]) -> None:
    offsets, top = pack_memory(pieces(*rows))
    placed = [(*row, offset, offset + row[2]) for row, offset in zip(rows, offsets.tolist(), strict=True)]
    assert all(lo >= 0 and hi <= top for *_, lo, hi in placed)
    for (a, b, n, lo, hi), (c, d, m, low, high) in combinations(placed, 2):
        assert b < c or d < a or hi <= low or high <= lo or 0 in (n, m)


@given(some)
def test_it_takes_what_the_fullest_moment_needs_or_more_and_the_same_each_time(rows: list[Piece]) -> None:
    offsets, top = pack_memory(pieces(*rows))
    fullest = max((sum(n for a, b, n in rows if a <= t <= b) for t in range(10)), default=0)
    assert memory_load(pieces(*rows)).max() == fullest <= top
    again, same = pack_memory(pieces(*rows))
    assert offsets.tolist() == again.tolist()
    assert top == same


@given(st.lists(st.integers(1, 9), max_size=30))
def test_lives_within_lives_make_stairs_without_a_hole(sizes: list[int]) -> None:
    offsets, top = pack_memory(pieces(*((t, 60 - t, n) for t, n in enumerate(sizes))))
    assert offsets.tolist() == [sum(sizes[:t]) for t in range(len(sizes))]
    assert top == sum(sizes)


def test_who_does_not_fit_comes_earlier_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = pieces((0, 2, 4), (2, 4, 4), (3, 6, 2), (5, 6, 3))
    assert pack_memory(found)[1] == memory_load(found).max() == 8
    monkeypatch.setattr(packing, "TRIES", 1)
    assert pack_memory(found)[1] == 10


@given(some)
@example([(1, 5, 2), (5, 8, 4), (7, 8, 5), (3, 5, 4)])
def test_another_try_never_makes_it_worse(rows: list[Piece]) -> None:
    """In the example the last piece is the one that ends too high at the second try."""
    tops = []
    for tries in range(1, 6):
        with patch.object(packing, "TRIES", tries):
            tops.append(pack_memory(pieces(*rows))[1])
    assert tops == sorted(tops, reverse=True)


def test_the_more_pieces_the_fewer_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, tries = np.random.default_rng(0), list[int]()

    def counted(found: Ints, limit: int) -> Ints:
        tries.append(len(found))
        return stack_pieces(found, limit)

    monkeypatch.setattr(packing, "stack_pieces", counted)
    for count in (40, 3000):
        first = rng.integers(0, count, count)
        pack_memory(np.stack([first, first + rng.geometric(0.01, count), rng.integers(1, 1000, count)], axis=1))
    assert 3000 in tries
    assert tries.count(40) <= packing.TRIES
    assert 3000 * (tries.count(3000) - 1) <= packing.EFFORT


def test_laying_stops_at_who_would_come_too_high() -> None:
    found = pieces((0, 1, 3), (1, 2, 3), (2, 3, 3), (0, 3, 1))
    assert stack_pieces(found, MOST).tolist() == [3, 6, 3, 7]
    assert stack_pieces(found, 6).tolist() == [3, 6]


def test_the_lowest_gap_that_fits_is_taken() -> None:
    starts, ends = np.array([0, 128, 320]), np.array([64, 192, 384])
    assert [lowest_gap(starts, ends, size) for size in (64, 128, 192)] == [64, 192, 384]
