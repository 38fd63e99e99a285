"""Trace: what a worker did, and when."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from netpart.program.instructions import Channel
from netpart.worker.actions import START, WAIT

STEP = "step"
PHRASES = {START: "start ", WAIT: "wait "}
"""The words in a trace before the name of a collective."""


class TracedAction(NamedTuple):
    """An action from ``start`` to ``end``, in seconds of this process's clock; ``name`` begins with a verb.

    ``channel`` is that of the message that it sent or received, for the mini-batch of ``delay`` steps before. Actions
    done meanwhile come before it in the list. ``micro`` is the micro-batch that is computed, -1 if a step has only one.
    """

    name: str
    start: float
    end: float
    channel: Channel | None = None
    delay: int = 0
    micro: int = -1


class WorkerTrace:
    """``events``, if it is a list, receives every action, every message of a collective, every wait and, after all
    these, the step; times are from the clock ``now``."""

    def __init__(self) -> None:
        self.events: list[TracedAction] | None = None
        self.now: Callable[[], float] = perf_counter

    def note(
        self, name: str, started: float, channel: Channel | None = None, delay: int = 0, micro: int = -1
    ) -> None:  # fmt: skip
        """Record an event that ends now, if events are recorded."""
        if self.events is not None:
            self.events.append(TracedAction(name, started, self.now(), channel, delay, micro))
