"""Ring schedules: what they compute, what they cost, and their borders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.collectives import Schedule, Step, all_gather, all_reduce, chunks, reduce_scatter, volume

Arrays = dict[int, npt.NDArray[np.float64]]
Play = Callable[[Schedule, Arrays], Arrays]

RINGS = st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True).map(tuple)
LENGTHS = st.integers(0, 50)


def integers(members: tuple[int, ...], n: int) -> Arrays:
    """Whole numbers, so that sums are exact in any order."""
    random = np.random.default_rng(n)
    return {member: random.integers(-1000, 1000, n).astype(float) for member in members}


@given(RINGS, LENGTHS)
def test_all_reduce_sums(play: Play, members: tuple[int, ...], n: int) -> None:
    arrays = integers(members, n)
    after = play(all_reduce(members, n), arrays)
    assert all(np.array_equal(after[member], sum(arrays.values())) for member in members)


@given(RINGS, LENGTHS, st.integers(0, 2**32))
def test_all_members_end_bit_identical(play: Play, members: tuple[int, ...], n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    arrays = {member: random.normal(size=n) * 10.0 ** random.integers(-9, 9, n) for member in members}
    first, *others = play(all_reduce(members, n), arrays).values()
    assert all(first.tobytes() == other.tobytes() for other in others)
    np.testing.assert_allclose(first, sum(arrays.values()), rtol=1e-12, atol=1e-5)


@given(RINGS, LENGTHS)
def test_reduce_scatter_then_all_gather(play: Play, members: tuple[int, ...], n: int) -> None:
    arrays, parts = integers(members, n), chunks(n, len(members))
    scattered = play(reduce_scatter(members, n), arrays)
    total = sum(arrays.values(), np.zeros(n))
    for member, part in zip(members, parts, strict=True):
        assert np.array_equal(scattered[member][slice(*part)], total[slice(*part)])
    gathered = play(all_gather(members, n), scattered)
    assert all(np.array_equal(gathered[member], total) for member in members)


@given(RINGS, LENGTHS)
def test_volume_and_number_of_steps(members: tuple[int, ...], n: int) -> None:
    size = len(members)
    assert volume(reduce_scatter(members, n)) == volume(all_gather(members, n)) == (size - 1) * n
    assert volume(all_reduce(members, n)) == 2 * (size - 1) * n
    assert {len(steps) for steps in all_reduce(members, n).values()} == {2 * (size - 1)}


@given(RINGS, LENGTHS)
def test_what_one_member_sends_its_neighbour_expects(members: tuple[int, ...], n: int) -> None:
    schedule = all_reduce(members, n)
    for member, steps in schedule.items():
        for i, step in enumerate(steps):
            other = schedule[step.send_to][i]
            assert (other.receive_from, other.receive) == (member, step.send)
            assert step.send_to == members[(members.index(member) + 1) % len(members)]


@given(st.integers(0, 100), st.integers(1, 12))
def test_chunks_tile_evenly(n: int, parts: int) -> None:
    cut = chunks(n, parts)
    assert [lo for lo, _ in cut] + [n] == [0] + [hi for _, hi in cut]
    sizes = [hi - lo for lo, hi in cut]
    assert max(sizes) - min(sizes) <= 1


def test_three_members_as_drawn() -> None:
    assert all_reduce((4, 5, 6), 3)[4] == (
        Step(5, (2, 3), 6, (1, 2), True),
        Step(5, (1, 2), 6, (0, 1), True),
        Step(5, (0, 1), 6, (2, 3), False),
        Step(5, (2, 3), 6, (1, 2), False),
    )


def test_one_member_has_nothing_to_do() -> None:
    assert all_reduce((3,), 10) == {3: ()}


def test_the_sum_of_a_chunk_starts_after_its_owner(play: Play) -> None:
    """1e16 swallows a 1 that is added to it alone, so the order of the addends shows in the result."""
    arrays = {0: np.full(3, 1.0), 1: np.full(3, 1.0), 2: np.full(3, 1e16)}
    after = play(all_reduce((0, 1, 2), 3), arrays)
    assert after[0].tolist() == [(1.0 + 1e16) + 1.0, (1e16 + 1.0) + 1.0, (1.0 + 1.0) + 1e16]
    assert after[0][2] != after[0][1]


@pytest.mark.parametrize(("members", "n"), [((), 3), ((1, 2, 1), 3), ((1, 2), -1)])
@pytest.mark.parametrize("collective", [all_reduce, reduce_scatter, all_gather])
def test_rings_that_cannot_be(collective: Callable[..., Schedule], members: tuple[int, ...], n: int) -> None:
    with pytest.raises(ValueError, match="distinct members and n >= 0"):
        collective(members, n)
