"""Events for listeners that watch a run closely: where its workers are, and what they did in single steps.

They are many, so only a listener with an attribute ``watches`` that is true receives them, and workers trace no step
without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpart.launch.report.events import Event, Staleness

if TYPE_CHECKING:
    from netpart.launch.report.run_description import RunDescription


@dataclass(frozen=True)
class WorkerPosition:
    """Where worker ``rank`` was at its last heartbeat, ``silent`` seconds ago: phase, step and action."""

    rank: int
    phase: str
    step: int
    doing: str
    silent: float


@dataclass(frozen=True)
class WorkerPositions:
    """Where all workers and servers are."""

    workers: tuple[WorkerPosition, ...]


@dataclass(frozen=True)
class SampledAction:
    """An action of a worker, ``name``, from ``start`` to ``end`` in seconds of the coordinator's clock."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class SampledWorker:
    """What worker ``rank`` did in a step, in the order of completion; the step itself is the last action.

    ``actions`` is empty on a GPU. ``sent`` has the payload bytes that it has sent since the start of the run, by the
    names of its edges in the graph, and ``sent_to`` the same by the rank that they were sent to. ``resident`` is the
    memory of its process in bytes, with Python and its libraries. ``grown`` is how much of it came since its plan was
    compiled, to be compared with the plan; None with --launcher threads, where all workers have one process.
    """

    rank: int
    actions: tuple[SampledAction, ...]
    sent: dict[str, int]
    sent_to: dict[int, int]
    resident: int
    grown: int | None


@dataclass(frozen=True)
class StepSampled:
    """A step that all workers of ``group`` have traced."""

    group: int
    step: int
    workers: tuple[SampledWorker, ...]


@dataclass(frozen=True)
class NextAttempt:
    """The run, which has failed, is played again as ``run`` says. Only a listener with an attribute ``lasts`` that is
    true receives it: others are opened anew. Restarted follows."""

    run: RunDescription


WatchEvent = Event | WorkerPositions | StepSampled | Staleness
LastingEvent = WatchEvent | NextAttempt
"""What a listener receives that lasts, and watches."""
