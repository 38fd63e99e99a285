"""Branches: steps on lanes keep every order that they must, and need no more lanes than they have use for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.worker.gpu.graph_lanes import BEGIN, LANES, LaneSchedule, assign_lanes


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[list[int]], list[bool]]:
    """What each of several steps comes after, and which of them are fixed."""
    count = draw(st.integers(0, 14))
    before = [draw(st.lists(st.integers(0, n - 1), max_size=3, unique=True)) if n else [] for n in range(count)]
    return before, draw(st.lists(st.booleans(), min_size=count, max_size=count))


def behind(found: LaneSchedule) -> list[set[int]]:
    """All that each step comes after: by its lane, and by what it waits for."""
    result, tails = list[set[int]](), {0: {BEGIN}}
    for lane, after in zip(found.lanes, found.after, strict=True):
        waited = ({i, *(result[i] if i != BEGIN else ())} for i in after)
        result.append(tails.get(lane, set()).union(*waited))
        tails[lane] = {*result[-1], len(result) - 1}
    return result


@given(orders())
def test_all_that_must_be_before_is_before_and_all_is_before_the_end(order: tuple[list[list[int]], list[bool]]) -> None:
    before, fixed = order
    found = assign_lanes(before, fixed)
    known = behind(found)
    for n, wanted in enumerate(before):
        assert known[n] >= {BEGIN, *wanted}
        assert found.lanes[n] == 0 or not fixed[n]
    assert all(0 <= lane < LANES for lane in found.lanes)
    last = {lane: n for n, lane in enumerate(found.lanes)}
    assert sorted(found.ends) == sorted(n for lane, n in last.items() if lane)


def test_a_chain_is_on_one_lane() -> None:
    assert assign_lanes([[], [0], [1]], [False] * 3) == LaneSchedule([0, 0, 0], [(), (), ()], [])


def test_gradients_of_parameters_are_beside_those_of_data() -> None:
    """0 loss, 1 dx2, 2 dw2, 3 dx1, 4 dw1, 5 updates."""
    found = assign_lanes([[], [0], [0], [1], [1], [2, 3, 4]], [False] * 6)
    assert found.lanes == [0, 0, 1, 0, 2, 0]
    assert found.after == [(), (), (0,), (), (1,), (2, 4)]
    assert found.ends == [2, 4]


def test_what_depends_on_nothing_waits_for_the_beginning() -> None:
    assert assign_lanes([[], []], [False] * 2) == LaneSchedule([0, 1], [(), (BEGIN,)], [1])
    assert not any(assign_lanes([[], []], [True] * 2).lanes)


def test_with_one_lane_there_are_no_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETPART_LANES", "1")
    assert assign_lanes([[], [], [0]], [False] * 3) == LaneSchedule([0, 0, 0], [(), (), ()], [])


@pytest.mark.parametrize("wanted", ["", "two", "1.5", "-1", "0", " "])
def test_a_number_of_lanes_that_is_none_is_named(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETPART_LANES", wanted)
    said = f"NETPART_LANES: expected a number of streams from 1, got {wanted!r}; set 1 for no parallel branches"
    with pytest.raises(NetpartError, match=f"^{re.escape(said)}$"):
        assign_lanes([[]], [False])
