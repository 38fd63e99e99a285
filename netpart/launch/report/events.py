"""Events: plain values that a run passes to its listeners. The command line prints them; metrics.jsonl stores some."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import TRAIN

if TYPE_CHECKING:
    from netpart.launch.coordinator.oversubscribed_hosts import OversubscribedHost
    from netpart.launch.report.run_description import RunDescription
    from netpart.launch.report.watch_events import WatchEvent
    from netpart.worker.server_player import AppliedUpdate


@dataclass(frozen=True)
class Invited:
    """The run waits for workers ``missing``. ``command`` starts one on its host, and ``needs`` is required there
    first."""

    missing: tuple[int, ...]
    command: str
    needs: str = ""


@dataclass(frozen=True)
class Joined:
    """Worker ``rank`` has joined from ``where``; ``missing`` have not yet."""

    rank: int
    where: str
    missing: tuple[int, ...]


@dataclass(frozen=True)
class Noticed:
    """A notice for the user that does not end the run."""

    text: str


@dataclass(frozen=True)
class Started:
    """All workers are ready. ``memory`` is the planned bytes of each worker; tensors are sent through ``transport``.

    ``kernels`` are the kernels of the job in words. ``threads`` is how many threads each worker's kernels use on a CPU.
    ``cluster`` describes the groups and servers, if there are several groups or any servers. ``crowds`` are the workers
    with too many threads. ``idle`` are the workers of a group that have nothing to compute. ``phase`` is the phase of
    a run that does not train. ``sealing`` is the cipher of the links between workers, "plain" if links leave a host
    without one, and "" if none leaves its host.
    """

    name: str
    workers: int
    steps: int
    first_step: int
    batch: int
    devices: tuple[str, ...]
    memory: tuple[int, ...]
    transport: str
    kernels: str
    threads: tuple[int, ...]
    cluster: str = ""
    crowds: tuple[OversubscribedHost, ...] = ()
    idle: tuple[int, ...] = ()
    phase: str = TRAIN
    sealing: str = ""


@dataclass(frozen=True)
class Measured:
    """Means of the metrics of ``phase`` since the last report.

    ``step`` counts the training steps done, ``epoch`` the passes over the training data, None if it has no end.
    ``seconds`` have passed since the first step of the run. ``tables`` are confusion matrices in samples: rows are
    classes, columns are predictions.
    """

    phase: str
    step: int
    metrics: dict[str, float]
    seconds: float
    samples_per_second: float
    tables: dict[str, list[list[int]]] = field(default_factory=dict)
    epoch: float | None = None


@dataclass(frozen=True)
class Saved:
    """The checkpoint of ``step`` is complete at ``path``. ``best``: it is that of the best validation."""

    step: int
    path: Path
    best: bool = False


@dataclass(frozen=True)
class Judged:
    """A decision after ``phase`` at ``step``: the run stops, this is the best so far, or the learning rate changes.

    ``decides`` is "stop", "best" or "rate". ``value`` is that of ``metric`` (None: not reported); ``best`` is its best
    value, of ``best_step``. ``reason`` is the decision in words.
    """

    phase: str
    step: int
    decides: str
    metric: str
    value: float | None
    best: float | None
    best_step: int
    reason: str


@dataclass(frozen=True)
class Halted:
    """The run was asked to save a checkpoint and end; all workers stop before ``step``."""

    step: int
    reason: str = "SIGUSR1 asked for a checkpoint; continue with --resume"


@dataclass(frozen=True)
class Lost:
    """An elastic run has lost ``worker``, on host ``where`` ("": this one), for the ``reason``."""

    worker: int
    where: str
    reason: str


@dataclass(frozen=True)
class Recut:
    """An elastic run is cut anew for ``workers`` workers, and goes back to ``step``.

    ``left`` workers are there. ``source`` says where the values of that step are: MEMORY, CHECKPOINT or START.
    ``scheme`` is that of the cut, ``seconds`` is what a step is predicted to take, None if that is not known.
    """

    step: int
    workers: int
    left: int
    source: str
    scheme: str
    seconds: float | None = None


@dataclass(frozen=True)
class WentOn:
    """An elastic run that was cut anew goes on with ``step`` on ``workers`` workers.

    ``seconds`` after the loss or, if none was ``lost``, after the snapshot at which others ``joined``. ``again`` steps
    are repeated. ``lost`` are the losses, ``joined`` the hosts of workers that take part now. ``source`` is that of
    ``Recut``.
    """

    step: int
    workers: int
    seconds: float
    again: int
    source: str
    lost: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()


MEMORY, CHECKPOINT, START = "memory", "checkpoint", "start"
"""Where an elastic run finds the values of the step that it goes back to: in the memory of its workers, in a checkpoint
on disk, or nowhere, so that it starts again."""


@dataclass(frozen=True)
class Restarted:
    """The run starts again after a failure, the ``number``-th time of at most ``limit``, on ``workers`` workers.

    It goes on with ``step``, from ``checkpoint`` ("": as it began). ``reason`` is the error that ended the last
    attempt.
    """

    number: int
    limit: int
    step: int
    workers: int
    reason: str
    checkpoint: str = ""


@dataclass(frozen=True)
class Updated:
    """Server ``rank``, or the first worker of a group that averages, has made an update."""

    rank: int
    update: AppliedUpdate


@dataclass(frozen=True)
class Staleness:
    """How stale ``updates`` updates were. ``histogram`` counts them by staleness, in ascending order."""

    updates: int
    mean: float
    most: int
    histogram: dict[int, int]


@dataclass(frozen=True)
class Ended:
    """The run has ended without an error: the last event."""

    summary: Summary


Change = Lost | Recut | WentOn
Event = Invited | Joined | Noticed | Restarted | Started | Measured | Judged | Halted | Saved | Change | Ended
Listener = Callable[[Event], None]
ListenerMaker = Callable[["RunDescription"], AbstractContextManager[Listener]]
"""Opens a listener for the run that is described, for the duration of the run. The members of
``netpart.families.LISTENERS`` are of this type."""
Hearer = Callable[["WatchEvent | Updated"], None]
"""Receives all events, including every single update, and those of watch_events.py if the run is watched."""


@dataclass
class Summary:
    """The result of a run. ``loss`` and ``accuracy`` are those of the last test, or else of the last training report.

    Bytes are payload bytes between workers: ``bytes_predicted`` from the graph, ``bytes_counted`` from the run.
    ``step_seconds`` holds the latest 1000 training steps, each with the time of its slowest worker. ``tables`` are
    those of the last test; ``accuracies`` are the (step, accuracy) of every test. ``steps_per_epoch`` is the number of
    steps for one pass over the training data, if that is finite. ``classes`` are the names of the classes by input
    layer, if its data has names. ``cluster`` describes the groups and servers, if there are several groups or any
    servers. ``staleness`` covers all updates that servers made, or all averages. ``stopped`` is why the run ended
    before its last step, "" if it did not; ``halted``: it was asked to, and is to be resumed. ``best`` is the latest
    validation that ``best_checkpoint`` was written for: its {metric, value, step}. ``sealing`` is that of ``Started``.
    ``refused_frames`` counts frames that workers dropped, as they were not of this run, or not authentic. ``restarts``
    lists each start after a failure, as the lines of metrics.jsonl do; times, bytes and steps are those since
    the last one. ``changes`` are the changes of an elastic run's workers, each as the fields of ``WentOn``; after one,
    bytes, memory, devices and seconds of training are those of the last team.
    """

    name: str
    workers: int
    steps: int
    loss: float | None = None
    accuracy: float | None = None
    seconds: float = 0.0
    train_seconds: float = 0.0
    samples_per_second: float = 0.0
    bytes_predicted: int = 0
    bytes_counted: int = 0
    header_bytes: int = 0
    memory_bytes: list[int] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    train: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)
    checkpoint: str = ""
    workspace: str = ""
    bytes_by_edge: dict[str, int] = field(default_factory=dict)
    step_seconds: list[float] = field(default_factory=list)
    tables: dict[str, list[list[int]]] = field(default_factory=dict)
    accuracies: list[tuple[int, float]] = field(default_factory=list)
    steps_per_epoch: float | None = None
    classes: dict[str, list[str]] = field(default_factory=dict)
    cluster: str = ""
    staleness: Staleness | None = None
    sealing: str = ""
    refused_frames: int = 0
    stopped: str = ""
    halted: bool = False
    best: dict[str, Any] = field(default_factory=dict)
    best_checkpoint: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)
    restarts: list[dict[str, Any]] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        from netpart.launch.report.summary_page import summary_html

        return summary_html(self)
