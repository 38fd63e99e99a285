"""A Timeline in the format of Chrome's tracing and of Perfetto: JSON that https://ui.perfetto.dev opens.

A process per worker, a thread for computing and one for communicating, an arrow from every send to what took it in. The
format: Google, Trace Event Format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from netpart.measure.timeline import TALK, WAIT, Event, Timeline

COMPUTING, COMMUNICATING = 0, 1
THREADS = ("computing", "communication")

Json = dict[str, Any]


def to_chrome(timeline: Timeline) -> str:
    """Writes ``timeline`` as JSON; its first event begins at 0 µs."""
    began = min((event.start for event in timeline.events), default=0.0)
    found = [*_names(timeline.workers), *(_span(event, began) for event in timeline.events)]
    for number, message in enumerate(timeline.messages):
        found += [_flow("s", number, message.sent, began), _flow("f", number, message.taken, began)]
    return json.dumps({"traceEvents": found, "displayTimeUnit": "ms"}) + "\n"


def _names(workers: int) -> Iterator[Json]:
    """What processes and threads are called."""
    for worker in range(workers):
        yield {"ph": "M", "name": "process_name", "pid": worker, "args": {"name": f"worker {worker}"}}
        for thread, name in enumerate(THREADS):
            yield {"ph": "M", "name": "thread_name", "pid": worker, "tid": thread, "args": {"name": name}}


def _span(event: Event, began: float) -> Json:
    """One event."""
    name = f"step {event.step}" if event.text == "step" else event.text
    args = {"step": event.step} | ({"channel": event.channel} if event.channel else {})
    return _place(event) | {
        "ph": "X", "name": name, "cat": event.kind, "ts": _micros(event.start - began), "dur": _micros(event.seconds),
        "args": args,
    }  # fmt: skip


def _flow(phase: str, number: int, event: Event, began: float) -> Json:
    """One end of an arrow, in the middle of its event."""
    at = _micros((event.start + event.end) / 2 - began)
    binding = {"bp": "e"} if phase == "f" else {}
    return _place(event) | {"ph": phase, "id": number, "name": "message", "cat": "message", "ts": at} | binding


def _place(event: Event) -> Json:
    """Process and thread of an event."""
    return {"pid": event.worker, "tid": COMMUNICATING if event.kind in (TALK, WAIT) else COMPUTING}


def _micros(seconds: float) -> float:
    """Microseconds, as the format has them, to the nanosecond."""
    return round(seconds * 1e6, 3)
