"""Event lines: each event of a run as a line of JSON in events.jsonl, for programs that follow the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from netpart.launch.report.events import Event, Listener
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.run_record import refuse_full_disk


@contextmanager
def event_lines(run: RunDescription) -> Iterator[Listener]:
    """The listener "events": write {"event": "Measured", "phase": "train", ...}, one line per event, and flush it.

    Writing raises DataError on a full disk, as RunRecord does.
    """
    path = run.workspace / "events.jsonl"
    file = path.open("a" if run.continues else "w", encoding="utf-8")

    def write_line(event: Event) -> None:
        line = {"event": type(event).__name__} | asdict(event)
        with refuse_full_disk(file):
            file.write(json.dumps(line, default=str) + "\n")
            file.flush()

    try:
        yield write_line
    finally:
        with suppress(OSError):  # every line was flushed, so a write that fails now has been reported already
            file.close()
