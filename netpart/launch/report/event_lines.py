"""event_lines: every event of a run as a line of JSON in events.jsonl of the workspace, for programs that follow the
run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from netpart.launch.report.events import Event, Listener


@contextmanager
def event_lines(workspace: Path) -> Iterator[Listener]:
    """The listener "events": write {"event": "Measured", "phase": "train", ...}, one line per event, flushed at
    once."""
    with open(workspace / "events.jsonl", "w", encoding="utf-8") as file:

        def write_line(event: Event) -> None:
            line = {"event": type(event).__name__} | asdict(event)
            file.write(json.dumps(line, default=str) + "\n")
            file.flush()

        yield write_line
