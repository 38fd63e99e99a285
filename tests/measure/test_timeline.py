"""Timelines: each instant counts once, messages find both their ends, and what overlaps is what is in both."""

from __future__ import annotations

from netpart.measure.timeline import (
    BACKWARD,
    MOVE,
    STEP,
    TALK,
    WAIT,
    Timeline,
    TimelineEvent,
    intersect_intervals,
    merge_intervals,
    own_seconds,
    total_length,
    travel_intervals,
)

CHANNEL = (1, 0, 0, 5, 0)
SENT = TimelineEvent(0, 0, "send edge", 1.0, 2.0, CHANNEL)
TAKEN = TimelineEvent(1, 0, "receive edge", 3.0, 7.0, CHANNEL)
BRIDGE = Timeline(
    2,
    (
        TimelineEvent(0, 0, "forward a", 0.0, 1.0), SENT, TimelineEvent(0, 0, "step", 0.0, 2.0),
        TimelineEvent(1, 0, "forward b", 0.0, 3.0), TimelineEvent(1, 0, "wait receive edge", 3.0, 6.0), TAKEN,
        TimelineEvent(1, 0, "step", 0.0, 8.0),
    ),
)  # fmt: skip
"""Worker 1 computes until 3, waits until 6, takes in until 7."""


def test_a_verb_says_what_kind_an_event_is() -> None:
    kinds = [
        TimelineEvent(0, 0, text, 0, 1).kind for text in ("backward fc", "copy", "add squares", "receive x", "step")
    ]
    assert kinds == [BACKWARD, MOVE, MOVE, TALK, STEP]


def test_an_instant_belongs_to_what_began_last() -> None:
    found = own_seconds(BRIDGE.of_worker(1))
    assert found == {"forward": 3.0, TALK: 1.0, WAIT: 3.0, STEP: 1.0}
    assert sum(found.values()) == 8.0


def test_a_message_has_two_ends() -> None:
    ((sent, taken),) = BRIDGE.messages
    assert (sent, taken) == (SENT, TAKEN)
    assert not Timeline(2, (TAKEN, SENT._replace(step=1))).messages


def test_a_message_travels_until_it_is_taken_in() -> None:
    assert travel_intervals(BRIDGE, 1, 0) == [(1.0, 7.0)]
    assert travel_intervals(BRIDGE, 0, 0) == [(1.0, 2.0)]


def test_a_collective_travels_until_it_is_complete() -> None:
    events = (
        TimelineEvent(0, 0, "start sum", 1, 2),
        TimelineEvent(0, 0, "backward a", 2, 5),
        TimelineEvent(0, 0, "wait sum", 6, 9),
    )
    assert travel_intervals(Timeline(1, events), 0, 0) == [(1, 9)]
    again = tuple(e._replace(start=e.start + 10, end=e.end + 10) for e in events)
    assert travel_intervals(Timeline(1, again + events), 0, 0) == [(1, 9), (11, 19)]


def test_a_step_takes_what_its_slowest_worker_takes() -> None:
    assert BRIDGE.seconds(0) == 8.0
    assert BRIDGE.steps == (0,)
    assert not BRIDGE.of_step(1).events


def test_intervals() -> None:
    joined = merge_intervals([(5, 6), (0, 2), (1, 3)])
    assert joined == [(0, 3), (5, 6)]
    assert list(intersect_intervals(joined, [(2, 5.5)])) == [(2, 3), (5, 5.5)]
    assert total_length(joined) == 4
