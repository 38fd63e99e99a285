"""Branches: what one graph repeats, dealt to lanes, so that kernels which do not depend on each other run beside each
other.

    lane 0   .. backward fc2: dx ─┬─ backward tanh1 ─── backward fc1: dw ─┬─ update
    lane 1                        └─ backward fc2: dw ────────────────────┘

A small kernel leaves most of a GPU idle, and a step of small kernels takes as long as the longest chain of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from netpart.errors import NetpartError

LANES = 4
"""Streams at most: more would hardly make the longest chain of a net of the zoo shorter, and each has a workspace. Of 1
there are no branches."""
VARIABLE = "NETPART_LANES"
"""Another number of them, in the environment."""
BEGIN = -1


@dataclass(frozen=True)
class LaneSchedule:
    """Steps on ``lanes``: each comes after those of its lane before it, and after those ``after``, of other lanes or
    the BEGIN. The end comes after ``ends``, the last of lanes other than 0."""

    lanes: list[int]
    after: list[tuple[int, ...]]
    ends: list[int]

    def enqueue(self, device: Any, runs: Sequence[Callable[[], None]]) -> None:
        """Enqueues ``runs``, one for each step, while the stream of ``device`` captures."""
        marks = {BEGIN: _record_event(device, device.stream)}
        awaited = set(self.ends).union(*self.after)
        for n, run in enumerate(runs):
            stream = device.turn(self.lanes[n])
            for i in self.after[n]:
                stream.wait_event(marks[i])
            run()
            if n in awaited:
                marks[n] = _record_event(device, stream)
        stream = device.turn(0)
        for i in self.ends:
            stream.wait_event(marks[i])


def _record_event(device: Any, stream: Any) -> Any:
    """An event behind what ``stream`` was told."""
    return stream.record(device.xp.cuda.Event(disable_timing=True))


def assign_lanes(dependences: Sequence[Sequence[int]], fixed: Sequence[bool]) -> LaneSchedule:
    """Steps on lanes, given what each comes directly after; a ``fixed`` one is on lane 0.

    List scheduling (Graham 1966) in the order in which they come, as if all took equally long: each goes to the lane
    where it can start first, if possible to one whose last step it comes after anyway. Raises NetpartError for a
    number of lanes that is none.
    """
    ends = list[int]()
    tails = [BEGIN] * _max_lanes()
    behind = list[int]()
    lanes = list[int]()
    for n, before in enumerate(dependences):
        behind.append(0)
        for i in before:
            behind[n] |= behind[i] | 1 << i
        options = []
        for lane, tail in enumerate(tails[:1] if fixed[n] else tails):
            start = max((ends[i] for i in (*before, tail) if i != BEGIN), default=0)
            options.append((start, tail != BEGIN and not behind[n] >> tail & 1, lane))
        start, _, lane = min(options)
        ends.append(start + 1)
        lanes.append(lane)
        tails[lane] = n
    return LaneSchedule(lanes, _cross_lane_waits(dependences, lanes), [tail for tail in tails[1:] if tail != BEGIN])


def _max_lanes() -> int:
    """Lanes at most. Raises NetpartError."""
    wanted = os.environ.get(VARIABLE, str(LANES))
    if not wanted.isdecimal() or int(wanted) < 1:
        raise NetpartError(f"{VARIABLE}: expected a number of streams from 1 on, got {wanted!r}; 1 is without branches")
    return int(wanted)


def _cross_lane_waits(dependences: Sequence[Sequence[int]], lanes: Sequence[int]) -> list[tuple[int, ...]]:
    """What each step waits for, beside those of its lane before it."""
    found = list[tuple[int, ...]]()
    begun = {0}
    for before, lane in zip(dependences, lanes, strict=True):
        others = tuple(i for i in before if lanes[i] != lane)
        found.append(others if others or lane in begun else (BEGIN,))
        begun.add(lane)
    return found
