"""Bars of a sampled step for a Gantt chart in the page, and what its workers waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from netpart.launch.report.watch_events import SampledWorker, StepSampled
from netpart.measure.timeline import BACKWARD, FORWARD, STEP, WAIT, TimelineEvent, own_seconds

PHASES = {FORWARD: 0, BACKWARD: 1}
FINEST = 6000
"""Parts of a step, over all workers: neighbours of one kind that are shorter are drawn as one bar."""


def step_chart(sampled: StepSampled) -> dict[str, Any]:
    """The chart of a step as values for JSON: times are in microseconds from the start of its first worker.

    A bar is [kind, name, start, duration, actions]. ``own`` has the time of a worker by kind. ``waits`` has the seconds
    waited by what was waited for, and ``parts`` the time of each part of the graph.
    """
    events = {each.rank: _timeline_events(each, sampled.step) for each in sampled.workers}
    began = min((event.start for row in events.values() for event in row), default=0.0)
    ended = max((event.end for row in events.values() for event in row), default=0.0)
    finest = (ended - began) * len(events) / FINEST
    rows = [
        {
            "rank": rank, "bars": [_bar_values(bar, began) for bar in _joined_bars(row, finest)],
            "own": {kind: _micros(seconds) for kind, seconds in own_seconds(row).items()},
        }
        for rank, row in events.items()
    ]  # fmt: skip
    waits = _waits_of_events(event for row in events.values() for event in row)
    return {
        "group": sampled.group, "step": sampled.step, "micros": _micros(ended - began), "workers": rows, "waits": waits,
        "parts": _part_micros(event for row in events.values() for event in row),
    }  # fmt: skip


def _part_micros(events: Iterable[TimelineEvent]) -> dict[str, list[float]]:
    """Microseconds of each part of the graph: forward, backward and the rest, such as sending or adding."""
    found = defaultdict[str, list[float]](lambda: [0.0, 0.0, 0.0])
    for event in events:
        if event.kind != WAIT:
            found[event.part][PHASES.get(event.kind, 2)] += event.seconds
    return {name: [_micros(seconds) for seconds in row] for name, row in found.items()}


def _timeline_events(worker: SampledWorker, step: int) -> list[TimelineEvent]:
    """The actions of a worker by their start, an outer one before those nested in it; without the step as a whole."""
    events = [TimelineEvent(worker.rank, step, each.name, each.start, each.end) for each in reversed(worker.actions)]
    return sorted((e for e in events if e.kind != STEP), key=lambda e: (e.start, -e.end))


def _joined_bars(events: Iterable[TimelineEvent], finest: float) -> list[list[TimelineEvent]]:
    """Events in lists, each of which is one bar: neighbours of one kind that are shorter than ``finest`` seconds."""
    found: list[list[TimelineEvent]] = []
    for event in events:
        last = found[-1][-1] if found else None
        close = last is not None and last.kind == event.kind and event.end - found[-1][0].start < finest
        if close:
            found[-1].append(event)
        else:
            found.append([event])
    return found


def _bar_values(bar: list[TimelineEvent], began: float) -> list[Any]:
    first = bar[0]
    end = max(event.end for event in bar)
    return [first.kind, first.text, _micros(first.start - began), _micros(end - first.start), len(bar)]


def _micros(seconds: float) -> float:
    return round(seconds * 1e6, 1)


def _waits_of_events(events: Iterable[TimelineEvent]) -> dict[str, float]:
    """Seconds waited, by what was waited for, longest first."""
    found = defaultdict[str, float](float)
    for event in events:
        if event.kind == WAIT:
            found[event.object] += event.seconds
    return dict(sorted(found.items(), key=lambda row: -row[1]))
