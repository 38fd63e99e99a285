"""RunFeed: the state of a run for its page, and the changes of it.

A change is a dictionary for JSON, with these values:

    run        what Started says of the run        memory     of each worker's process: all, and since its plan
    positions  where each worker is                sent       payload bytes from worker to worker
    charts     the last sampled step of a group    staleness  of updates
    curves     points of each metric               log        lines: seconds, text, kind
    attempts   restarts, each with the points of   end        the summary, or the failure
               curves that it measures again

The values of ``curves`` and ``log`` are appended to those that a page has, those of
``charts``, ``memory`` and ``sent`` replace rows of its tables, and others replace what it has. A page that connects,
or was away for long, receives the whole state as one change with ``reset``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from math import isfinite
from threading import Lock
from typing import Any

from netpart.errors import clip_text
from netpart.live.curve_points import CurvePoints, Point

Change = dict[str, Any]

LOG_LINES = 300
"""Lines of the log that are kept."""
RECENT_BYTES = 4 << 20
"""Largest size of the changes that are kept for a page that was disconnected; the latest one is kept in any case."""
LONGEST_LINE = 4000
"""Characters of a line of the log."""
MOST_ATTEMPTS = 5
"""Restarts that are kept, the latest ones."""
MOST_CURVES = 200
"""Largest number of curves; a net with more metrics has no curves of the others."""


class RunFeed:
    """The state of one run. All methods may be called from any thread. ``wake`` is called after each change."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._lock = Lock()
        self._state: Change = {}
        self._curves: dict[str, CurvePoints] = {}
        self._log: deque[list[Any]] = deque(maxlen=LOG_LINES)
        self._recent: deque[tuple[int, str]] = deque()
        self._recent_bytes = 0
        self._number = 0

    def put(self, **values: Any) -> None:
        """Replace values of the state."""
        with self._lock:
            self._state |= values
            self._note(values)
        self.wake()

    def update(self, **tables: dict[str, Any]) -> None:
        """Add to tables of the state, each a dictionary, or replace their values of the same key."""
        with self._lock:
            for name, rows in tables.items():
                self._state[name] = self._state.get(name, {}) | rows
            self._note(tables)
        self.wake()

    def add_points(self, points: dict[str, Point]) -> None:
        """Add a point to each of these curves."""
        with self._lock:
            known = {name: point for name, point in points.items() if self._has_room(name)}
            for name, point in known.items():
                self._curves.setdefault(name, CurvePoints()).add(point)
            self._note({"curves": {name: [point] for name, point in known.items()}})
        self.wake()

    def restart(self, step: int, **about: Any) -> None:
        """The run goes on from ``step`` after a failure: forget its workers, and keep apart what is measured again."""
        with self._lock:
            repeated = {name: dropped for name, curve in self._curves.items() if (dropped := curve.cut(step))}
            made = [*self._state.get("attempts", ()), {**about, "step": step, "repeated": repeated}]
            self._state = {"run": self._state.get("run"), "attempts": made[-MOST_ATTEMPTS:]}
            self._note(self._whole())
        self.wake()

    def _has_room(self, name: str) -> bool:
        return name in self._curves or len(self._curves) < MOST_CURVES

    def add_line(self, seconds: float, text: str, kind: str = "note") -> None:
        """Add a line to the log, at ``seconds`` since the page was opened."""
        with self._lock:
            line = [round(seconds, 1), clip_text(text, LONGEST_LINE), kind]
            self._log.append(line)
            self._note({"log": [line]})
        self.wake()

    def _note(self, change: Change) -> None:
        text = encode_json(change)
        self._number += 1
        self._recent.append((self._number, text))
        self._recent_bytes += len(text)
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.popleft()[1])

    def since(self, number: int | None) -> list[tuple[int, str]]:
        """The changes after ``number``, each with its number, as JSON. The whole state if some are no longer kept."""
        with self._lock:
            oldest = self._recent[0][0] if self._recent else self._number + 1
            if number is None or not oldest - 1 <= number <= self._number:
                return [(self._number, encode_json(self._whole()))]
            return [row for row in self._recent if row[0] > number]

    def _whole(self) -> Change:
        curves = {name: curve.points for name, curve in self._curves.items()}
        return {"reset": True, **self._state, "curves": curves, "log": list(self._log)}

    def value(self, name: str) -> Any:
        """The value ``name`` of the state; None if it was never put."""
        with self._lock:
            return self._state.get(name)

    def latest_points(self) -> dict[str, Point]:
        """The latest point of each curve."""
        with self._lock:
            return {name: curve.latest for name, curve in self._curves.items() if curve.latest is not None}


def encode_json(value: Any) -> str:
    """``value`` as JSON in one line. A number that is not finite, which JSON does not have, becomes null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite_values(value), separators=(",", ":"))


def _finite_values(value: Any) -> Any:
    """``value`` with None for each number that is not finite."""
    if isinstance(value, dict):
        return {name: _finite_values(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite_values(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
