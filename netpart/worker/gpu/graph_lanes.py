"""Graph lanes: the steps of one graph assigned to lanes, so that kernels that do not depend on each other run in
parallel.

    lane 0   .. backward fc2: dx ─┬─ backward tanh1 ─── backward fc1: dw ─┬─ update
    lane 1                        └─ backward fc2: dw ────────────────────┘

A small kernel leaves most of a GPU idle. So a sequence of small kernels need only take as long as the longest chain of
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from netpart.errors import NetpartError

LANES = 4
"""Maximum number of streams. More would hardly shorten the longest chain of a net of the zoo, and each has a workspace.
With 1 there are no branches."""
VARIABLE = "NETPART_LANES"
"""The environment variable that overrides this number."""
BEGIN = -1


@dataclass(frozen=True)
class LaneSchedule:
    """Steps on ``lanes``.

    Each step follows the earlier ones of its lane, and those in ``after``, which are on other lanes or BEGIN. The end
    follows ``ends``, the last steps of the lanes other than 0.
    """

    lanes: list[int]
    after: list[tuple[int, ...]]
    ends: list[int]

    def enqueue(self, device: Any, runs: Sequence[Callable[[], None]]) -> None:
        """Enqueue ``runs``, one for each step, while the stream of ``device`` is capturing."""
        marks = {BEGIN: _record_event(device, device.stream)}
        awaited = set(self.ends).union(*self.after)
        for n, run in enumerate(runs):
            stream = device.turn(self.lanes[n])
            for i in self.after[n]:
                stream.wait_event(marks[i])
            run()
            if n in awaited:
                marks[n] = _record_event(device, stream)
        # A capture ends on the stream on which it began, and all other streams must have joined that one before.
        stream = device.turn(0)
        for i in self.ends:
            stream.wait_event(marks[i])


def _record_event(device: Any, stream: Any) -> Any:
    """An event after the work enqueued on ``stream``."""
    return stream.record(device.xp.cuda.Event(disable_timing=True))


def assign_lanes(dependences: Sequence[Sequence[int]], fixed: Sequence[bool]) -> LaneSchedule:
    """Assign steps to lanes, given the direct dependences of each; a ``fixed`` step is on lane 0.

    List scheduling (Graham 1966) in the given order, as if all steps took equally long. Each step goes to the lane on
    which it can start first. Among these, a lane is preferred whose last step it depends on anyway. Raises NetpartError
    for an invalid number of lanes.
    """
    ends = list[int]()
    tails = [BEGIN] * _max_lanes()
    implied = list[int]()
    lanes = list[int]()
    for n, before in enumerate(dependences):
        implied.append(0)
        for i in before:
            implied[n] |= implied[i] | 1 << i
        options = []
        for lane, tail in enumerate(tails[:1] if fixed[n] else tails):
            start = max((ends[i] for i in (*before, tail) if i != BEGIN), default=0)
            options.append((start, tail != BEGIN and not implied[n] >> tail & 1, lane))
        start, _, lane = min(options)
        ends.append(start + 1)
        lanes.append(lane)
        tails[lane] = n
    return LaneSchedule(lanes, _cross_lane_waits(dependences, lanes), [tail for tail in tails[1:] if tail != BEGIN])


def _max_lanes() -> int:
    """Maximum number of lanes. Raises NetpartError."""
    wanted = os.environ.get(VARIABLE, str(LANES))
    if not wanted.isdecimal() or int(wanted) < 1:
        raise NetpartError(
            f"{VARIABLE}: expected a number of streams from 1, got {wanted!r}; set 1 for no parallel branches"
        )
    return int(wanted)


def _cross_lane_waits(dependences: Sequence[Sequence[int]], lanes: Sequence[int]) -> list[tuple[int, ...]]:
    """What each step waits for, in addition to the earlier steps of its lane."""
    found = list[tuple[int, ...]]()
    begun = {0}
    for before, lane in zip(dependences, lanes, strict=True):
        others = tuple(i for i in before if lanes[i] != lane)
        # The first step of a lane must wait for something on lane 0: only that makes its stream part of the capture.
        found.append(others if others or lane in begun else (BEGIN,))
        begun.add(lane)
    return found
