"""What a run tells whoever listens: plain values, printed by the command line, written to metrics.jsonl."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.launch.coordinator.crowded_hosts import OversubscribedHost
    from netpart.worker.server_player import AppliedUpdate


@dataclass(frozen=True)
class Invited:
    """The run waits for workers ``missing`` to join; ``command`` is what to type on their hosts, ``needs`` what must be
    there before."""

    missing: tuple[int, ...]
    command: str
    needs: str = ""


@dataclass(frozen=True)
class Joined:
    """Worker ``rank`` has come, from ``where``; ``missing`` are still to come."""

    rank: int
    where: str
    missing: tuple[int, ...]


@dataclass(frozen=True)
class Noticed:
    """Something that a person should know, and that does not end the run."""

    text: str


@dataclass(frozen=True)
class Started:
    """All workers are ready. ``memory`` is what each one's plan takes in bytes; tensors go through ``transport``.

    ``kernels`` are those of the job in words, ``threads`` how many of them each worker uses on a CPU, ``cluster`` the
    groups and servers in words, if there are several or any; ``crowds`` are the workers that have too many threads,
    ``idle`` those of a group that have nothing to compute.
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


@dataclass(frozen=True)
class Measured:
    """Means of the metrics of ``phase`` since the last report. ``step`` counts the training steps done; ``tables`` are
    confusion matrices: rows are classes, columns what they were taken for, in samples."""

    phase: str
    step: int
    metrics: dict[str, float]
    seconds: float
    samples_per_second: float
    tables: dict[str, list[list[int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Saved:
    """The checkpoint of ``step`` is complete at ``path``."""

    step: int
    path: Path


@dataclass(frozen=True)
class Updated:
    """Server ``rank``, or the first worker of a group that averages, has made an update."""

    rank: int
    update: AppliedUpdate


@dataclass(frozen=True)
class Staleness:
    """How stale ``updates`` updates were; ``histogram`` counts them by their staleness, from the least on."""

    updates: int
    mean: float
    most: int
    histogram: dict[int, int]


Event = Invited | Joined | Noticed | Started | Measured | Saved
Listener = Callable[[Event], None]
ListenerMaker = Callable[[Path], AbstractContextManager[Listener]]
"""Opens a listener of the run whose workspace it gets, for as long as the run lasts; a family of them is
``netpart.families.LISTENERS``."""
Hearer = Callable[[Event | Updated], None]
"""Hears of everything, each single update included."""


@dataclass
class Summary:
    """The end of a run. ``loss`` and ``accuracy`` are those of the last test, or else of the last training report.

    Bytes are payload bytes between workers: ``bytes_predicted`` from the graph, ``bytes_counted`` from the run.
    ``step_seconds`` are those of the latest 1000 training steps, each of the worker that took longest. ``tables`` are
    those of the last test; ``accuracies`` the (step, accuracy) of every test; ``steps_per_epoch`` passes over the
    training data once, where that has an end. ``cluster`` are the groups and servers in words, if there are several or
    any; ``staleness`` is that of all updates that servers made, or of all averages.
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
    cluster: str = ""
    staleness: Staleness | None = None

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from netpart.launch.report.summary_page import summary_html

        return summary_html(self)
