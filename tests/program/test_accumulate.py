"""Where gradients meet: the sum is right whatever was in the buffer before, and nothing is zeroed for nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netpart.program.accumulate import Accumulator
from netpart.spec import Region, relative_slices, whole_region
from tests.laws.placements import boxes

AREA = whole_region((4, 5))


@st.composite
def contributions(draw: st.DrawFn) -> list[Region]:
    """Boxes that tile the area, or any that do not."""
    tiles = draw(boxes(AREA, [0, 1], 4))
    extra = draw(st.lists(st.sampled_from([*tiles, AREA]), max_size=3))
    return draw(st.permutations(tiles[draw(st.integers(0, len(tiles))) :] + extra))


@given(contributions())
def test_contributions_add_up_in_a_buffer_of_garbage(regions: list[Region]) -> None:
    total = Accumulator(AREA, list(enumerate(regions)))
    found, expected = np.full((4, 5), np.nan), np.zeros((4, 5))
    for key, box in enumerate(regions):
        if total.must_zero(key):
            found[...] = 0
        target = found[relative_slices(box, AREA)]
        target[...] = key + 1.5 if total.overwrites(key) else target + key + 1.5
        expected[relative_slices(box, AREA)] += key + 1.5
    if regions:
        assert np.array_equal(found, expected)


def test_nothing_is_zeroed_that_is_overwritten() -> None:
    halves: list[Region] = [((0, 2), (0, 5)), ((2, 4), (0, 5))]
    tiled = Accumulator(AREA, list(enumerate(halves)))
    covered = Accumulator(AREA, list(enumerate([AREA, *halves])))
    assert [tiled.overwrites(k) for k in (0, 1)] == [True, True]
    assert [covered.overwrites(k) for k in (0, 1, 2)] == [True, False, False]
    assert not any(total.must_zero(k) for total in (tiled, covered) for k in (0, 1, 2))


def test_a_part_that_does_not_cover_is_added_to_zero() -> None:
    total = Accumulator(AREA, [("first", ((0, 2), (0, 5))), ("second", ((1, 3), (0, 5)))])
    assert total.must_zero("first")
    assert not total.must_zero("second")
    assert not total.overwrites("first")
