"""Traces for Perfetto: a process per worker, a complete event each, and arrows whose ends lie within their events."""

from __future__ import annotations

import json

from netpart.measure.chrome_trace import COMMUNICATING, COMPUTING, READING, to_chrome_trace
from netpart.measure.timeline import Timeline, TimelineEvent

SENT, TAKEN = TimelineEvent(0, 3, "send x", 10.5, 10.6, (1, 2)), TimelineEvent(1, 3, "receive x", 10.8, 11.0, (1, 2))
TIMELINE = Timeline(
    2,
    (
        TimelineEvent(0, 3, "forward a", 10.0, 10.5),
        SENT,
        TAKEN,
        TimelineEvent(1, 3, "read data", 10.0, 10.1),
        TimelineEvent(1, 3, "step", 10.0, 11.0),
    ),
)
FOUND = json.loads(to_chrome_trace(TIMELINE))["traceEvents"]


def test_workers_and_lanes_have_names() -> None:
    assert [e["args"]["name"] for e in FOUND if e["name"] == "process_name"] == ["worker 0", "worker 1"]
    assert sum(e["name"] == "thread_name" for e in FOUND) == 6


def test_events_are_told_in_microseconds_from_the_first() -> None:
    spans = {(e["pid"], e["name"]): e for e in FOUND if e["ph"] == "X"}
    assert spans[0, "forward a"]["ts"] == 0
    assert spans[0, "forward a"]["dur"] == 500_000
    assert spans[0, "forward a"]["tid"] == COMPUTING
    assert spans[1, "read data"]["tid"] == READING
    assert spans[1, "receive x"]["tid"] == COMMUNICATING
    assert spans[1, "receive x"]["args"] == {"step": 3, "channel": [1, 2]}
    assert (1, "step 3") in spans


def test_an_arrow_leads_from_within_the_send_to_within_the_receive() -> None:
    start, end = (next(e for e in FOUND if e["ph"] == phase) for phase in "sf")
    assert start["id"] == end["id"]
    assert 500_000 < start["ts"] < 600_000
    assert 800_000 < end["ts"] < 1_000_000
    assert end["bp"] == "e"
