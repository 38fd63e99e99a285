"""A job with its checkpoint, for functions that compute with trained parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from netpart.launch.report.workspace import newest_checkpoint
from netpart.launch.run import LaunchChoice
from netpart.proto.cluster import single_group_job
from netpart.proto.reader import Job


@dataclass(frozen=True)
class TrainedJob:
    """A job in one group of workers, its checkpoint, how to launch it, and the folder of its logs (None: its own)."""

    job: Job
    checkpoint: Path
    choice: LaunchChoice
    workspace: Path | None


def find_trained_job(
    job: Job, checkpoint: str | PathLike[str] | None, launcher: str, workspace: str | PathLike[str] | None
) -> TrainedJob:
    """``job`` with ``checkpoint``, or else the newest of its workspace."""
    saved = newest_checkpoint(job.proto) if checkpoint is None else Path(checkpoint)
    # Groups and servers are for training.
    alone = replace(job, proto=single_group_job(job.proto))
    return TrainedJob(alone, saved, LaunchChoice(launcher), None if workspace is None else Path(workspace))
