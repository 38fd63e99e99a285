"""RestartPoint: where an elastic run goes on that was cut anew: a snapshot, else a checkpoint, else where it began."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from netpart.checkpoint.steps import parse_step
from netpart.graph.partition import Partition
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.kept_snapshot import KeptSnapshot
from netpart.launch.report.events import CHECKPOINT, MEMORY, START


@dataclass(frozen=True)
class RestartPoint:
    """``options`` of the run from there on; ``kept`` is the snapshot, if it is one. ``source`` is that of ``Recut``.

    ``saved``: it is a checkpoint that this run has written.
    """

    options: RunOptions
    source: str
    kept: KeptSnapshot | None = None
    saved: bool = False


def find_restart_point(kept: KeptSnapshot | None, latest: Path | None, began: RunOptions) -> RestartPoint:
    """Where a run goes on: ``kept`` is what is left of its newest snapshot, ``latest`` its newest checkpoint, ``began``
    are the options with which it began."""
    if kept is not None and kept.is_whole:
        options = replace(began, first_step=kept.step, restore=None, averages=False, resumed=False)
        return RestartPoint(options, MEMORY, kept)
    if latest is not None and latest.exists():
        options = replace(began, first_step=parse_step(latest), restore=latest, averages=False, resumed=False)
        return RestartPoint(options, CHECKPOINT, saved=True)
    return RestartPoint(began, START if began.restore is None else CHECKPOINT)


def resumed_cut(cut: Partition) -> Partition:
    """``cut`` for a run that continues from a checkpoint. The cut itself may be of another team, and stays as it is."""
    job = type(cut.job)()
    job.CopyFrom(cut.job)
    job.resume = True
    return replace(cut, job=job)
