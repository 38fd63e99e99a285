"""Runs of small jobs, as processes of this host, in which workers are killed at chosen moments."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import step_file
from netpart.launch.report.events import Event, Lost, Measured, Summary, WentOn
from netpart.launch.run import run_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job_text
from netpart.spec import whole_region
from tests.worker.jobs import LENET

BOUND = 1e-10
STEPS = 60
CHANGES = ("dtype=FLOAT64", f"train_steps={STEPS}", "disp_freq=7", "device=CPU", "deadline=20")


def elastic_job(*changes: str, least: int = 1, most: int = 4) -> Job:
    """LeNet for ``least`` to ``most`` workers, with a snapshot every 10 steps."""
    job = read_job_text(LENET, overrides=(*CHANGES, *changes))
    job.proto.elastic.min_workers, job.proto.elastic.max_workers = least, most
    return job


def worker_processes() -> list[int]:
    """The workers that this process has started and that live, by rank of the first team."""
    me = os.getpid()
    found = map(int, Path(f"/proc/{me}/task/{me}/children").read_text().split())
    return [pid for pid in found if b"worker_entry" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@dataclass
class NoticedKills:
    """Kills workers by ``kill`` at reports of training, one each time that the run is whole; ``found`` are the seconds
    until each was known, with the reason that was told.

    ``left`` kills are still to come. ``again`` is called after each.
    """

    kill: Callable[[], None]
    left: int
    again: Callable[[], None] = lambda: None
    found: list[tuple[float, str]] = field(default_factory=list)
    killed: float = 0.0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Lost):
            self.found.append((monotonic() - self.killed, event.reason))
            self.killed = 0.0
            self.again()
        elif isinstance(event, Measured) and not self.killed and self.left:
            self.left, self.killed = self.left - 1, monotonic()
            self.kill()


@dataclass
class Losses:
    """A listener that does ``plan[step]`` at the first report of training at or after ``step``."""

    plan: dict[int, Callable[[], None]]
    told: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.told.append(event)
        if isinstance(event, Measured) and event.phase == "train":
            for step in [step for step in self.plan if step <= event.step]:
                self.plan.pop(step)()

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.told if isinstance(event, kind)]


def killing(*numbers: int, by: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Send a signal to the workers with these numbers among those that live."""

    def kill() -> None:
        alive = worker_processes()
        for number in numbers:
            os.kill(alive[number], by)

    return kill


def run_with_losses(
    job: Job, workers: int, folder: Path, plan: dict[int, Callable[[], None]], **options: Any
) -> tuple[Summary, Losses]:
    """Run ``job`` and do what ``plan`` says."""
    losses = Losses(dict(plan))
    summary = run_job(job, workers, listener=losses, workspace=folder, **options)
    assert not losses.plan, "the run ended before a loss"
    assert not worker_processes()
    return summary, losses


def undisturbed(job: Job, folder: Path) -> list[Measured]:
    """The reports of ``job`` on one worker to which nothing happens."""
    proto = JobProto()
    proto.CopyFrom(job.proto)
    proto.ClearField("elastic")
    losses = Losses({})
    run_job(replace(job, proto=proto), 1, launcher="threads", listener=losses, workspace=folder)
    return losses.of(Measured)


def parameters(folder: Path, step: int = STEPS) -> dict[str, NDArray[np.float64]]:
    """The parameters of a checkpoint."""
    found = {}
    with open_checkpoint(step_file(folder / "checkpoint", step)) as saved:
        for name, stored in saved.tensors.items():
            found[name] = np.empty(stored.shape, np.float64)
            saved.read_region(name, whole_region(stored.shape), found[name])
    return found


def check_equal(folder: Path, expected: Path, step: int = STEPS) -> None:
    """Both runs end with the same parameters."""
    ours, theirs = parameters(folder, step), parameters(expected, step)
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert np.linalg.norm(ours[name] - values) <= BOUND * np.linalg.norm(values), name


def check_same_curve(found: list[Measured], expected: list[Measured]) -> None:
    """Both runs have reported the same metrics at the same steps, once each."""
    assert [(m.phase, m.step) for m in found] == [(m.phase, m.step) for m in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.metrics.keys() == other.metrics.keys()
        for name, value in other.metrics.items():
            assert abs(one.metrics[name] - value) <= 1e-9 * max(1.0, abs(value)), (one, other)


def sources(losses: Losses) -> list[str]:
    """Where the run went on after each change."""
    return [change.source for change in losses.of(WentOn)]
