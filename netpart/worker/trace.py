"""Trace: what a worker did, and when."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from netpart.program.instructions import Channel
from netpart.worker.actions import START, WAIT

STEP = "step"
PHRASES = {START: "start ", WAIT: "wait "}
"""What a trace says before the name of a collective."""


class TracedAction(NamedTuple):
    """What was done from ``start`` to ``end``, in seconds of this process's clock; ``name`` begins with a verb.

    ``channel`` is that of the message that it sent or received, for the mini-batch of ``delay`` steps before. What was
    done meanwhile stands before it. ``micro`` is the micro-batch that is computed, -1 where a step has but one.
    """

    name: str
    start: float
    end: float
    channel: Channel | None = None
    delay: int = 0
    micro: int = -1


class WorkerTrace:
    """``events``, if they are a list, get every action, every message of a collective, every wait and, behind all that,
    the step, by the clock ``now``."""

    def __init__(self) -> None:
        self.events: list[TracedAction] | None = None
        self.now: Callable[[], float] = perf_counter

    def note(
        self, name: str, started: float, channel: Channel | None = None, delay: int = 0, micro: int = -1
    ) -> None:  # fmt: skip
        """Keeps what ends now, if anything is to be kept."""
        if self.events is not None:
            self.events.append(TracedAction(name, started, self.now(), channel, delay, micro))
