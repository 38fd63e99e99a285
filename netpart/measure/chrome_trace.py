"""Chrome trace: a Timeline in the format of Chrome's tracing and of Perfetto, JSON that https://ui.perfetto.dev opens.

A process per worker, a thread for computing, one for communicating and one for the wait for data, an arrow from every
send to its receive, and two counters: the bytes that a worker has sent and that have not been received, and the bytes
of its arena that are in use. The format:
Google, Trace Event Format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from netpart.measure.timeline import READ, TALK, WAIT, Key, Timeline, TimelineEvent

COMPUTING, COMMUNICATING, READING = 0, 1, 2
THREADS = ("computing", "communication", "rows of data")
TRACKS = {TALK: COMMUNICATING, WAIT: COMMUNICATING, READ: READING}

Json = dict[str, Any]


def to_chrome_trace(
    timeline: Timeline, message_bytes: Mapping[Key, int] | None = None,
    arena_bytes: Mapping[int, Mapping[str, int]] | None = None,
) -> str:  # fmt: skip
    """``timeline`` as JSON. Its first event begins at 0 µs.

    ``message_bytes`` are those of each message by its sender and channel, ``arena_bytes`` those in use by worker and
    action; without them there are no counters.
    """
    began = min((event.start for event in timeline.events), default=0.0)
    found = [*_track_names(timeline.workers), *(_event_span(event, began) for event in timeline.events)]
    for number, message in enumerate(timeline.messages):
        found += [_message_flow("s", number, message.sent, began), _message_flow("f", number, message.taken, began)]
    found += _flight_counters(timeline, message_bytes or {}, began)
    found += _arena_counters(timeline, arena_bytes or {}, began)
    return json.dumps({"traceEvents": found, "displayTimeUnit": "ms"}) + "\n"


def _track_names(workers: int) -> Iterator[Json]:
    """The names of processes and threads."""
    for worker in range(workers):
        yield {"ph": "M", "name": "process_name", "pid": worker, "args": {"name": f"worker {worker}"}}
        for thread, name in enumerate(THREADS):
            yield {"ph": "M", "name": "thread_name", "pid": worker, "tid": thread, "args": {"name": name}}


def _event_span(event: TimelineEvent, began: float) -> Json:
    """One event as a complete event ("X")."""
    name = f"step {event.step}" if event.text == "step" else event.text
    args = {"step": event.step} | ({"channel": event.channel} if event.channel else {})
    return _event_track(event) | {
        "ph": "X", "name": name, "cat": event.kind, "ts": _to_microseconds(event.start - began),
        "dur": _to_microseconds(event.seconds),
        "args": args,
    }  # fmt: skip


def _message_flow(phase: str, number: int, event: TimelineEvent, began: float) -> Json:
    """One end of an arrow, in the middle of its event: ``phase`` "s" is its start, "f" its end."""
    at = _to_microseconds((event.start + event.end) / 2 - began)
    # By default an arrow ends at the next event to begin; "e" binds it to the event that encloses this time.
    binding = {"bp": "e"} if phase == "f" else {}
    return _event_track(event) | {"ph": phase, "id": number, "name": "message", "cat": "message", "ts": at} | binding


def _flight_counters(timeline: Timeline, message_bytes: Mapping[Key, int], began: float) -> Iterator[Json]:
    """The bytes in flight from each worker, when they change: from the start of a send to the end of its receive."""
    changes = []
    for sent, taken in timeline.messages:
        nbytes = message_bytes.get((sent.worker, *sent.channel), 0)
        # The clocks of two workers differ by some microseconds: a message is not received before it is sent.
        changes += [(sent.start, sent.worker, nbytes), (max(taken.end, sent.start), sent.worker, -nbytes)]
    held = Counter[int]()
    # Of changes at one moment the rises come first, so no counter is negative.
    for moment, worker, change in sorted(changes, key=lambda each: (each[0], -each[2])):
        held[worker] += change
        yield {
            "ph": "C", "name": "bytes in flight", "pid": worker, "ts": _to_microseconds(moment - began),
            "args": {"bytes": held[worker]},
        }  # fmt: skip


def _arena_counters(timeline: Timeline, arena_bytes: Mapping[int, Mapping[str, int]], began: float) -> Iterator[Json]:
    """The bytes of each worker's arena that are in use, when they change."""
    for worker, load in arena_bytes.items():
        latest = None
        for event in timeline.of_worker(worker):
            held = load.get(event.text)
            if held is not None and held != latest:
                latest = held
                yield {
                    "ph": "C", "name": "arena in use", "pid": worker, "ts": _to_microseconds(event.start - began),
                    "args": {"bytes": held},
                }  # fmt: skip


def _event_track(event: TimelineEvent) -> Json:
    """Process and thread of an event."""
    return {"pid": event.worker, "tid": TRACKS.get(event.kind, COMPUTING)}


def _to_microseconds(seconds: float) -> float:
    """Microseconds, the unit of the format, rounded to nanoseconds."""
    return round(seconds * 1e6, 3)
