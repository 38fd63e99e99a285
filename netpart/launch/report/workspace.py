"""Workspace: which folder a run writes to, and a check that it is still that folder.

The user may name any folder: with --workspace, --set cluster.workspace=, or ``workspace`` of the Python API. A job may
come from another person, so a folder named in the job must lie within the current folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

from netpart.checkpoint.steps import latest_checkpoint
from netpart.errors import ConfigError, DataError

if TYPE_CHECKING:
    from netpart.errors import FieldPath
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

WHERE: FieldPath = ("cluster", "workspace")


def job_workspace(job: JobProto) -> Path:
    """The folder of a job's checkpoints, metrics and logs."""
    return Path(job.cluster.workspace or Path("out") / (job.name or "net"))


def choose_workspace(job: Job, given: Path | None) -> Path:
    """The folder to which a run of ``job`` writes: ``given``, or else the job's.

    Raises ConfigError for a folder outside the current one that only the job asks for.
    """
    if given is not None:
        return given
    folder = job_workspace(job.proto)
    at: FieldPath = WHERE if job.proto.cluster.workspace else ("name",)
    if at not in job.overridden and _leaves_folder(folder):
        hint = "name it with --workspace if the run may write there"
        raise ConfigError(".".join(map(str, at)), "a folder within the current one", str(folder), hint, at=at)
    return folder


def newest_checkpoint(job: JobProto) -> Path:
    """The newest checkpoint in the workspace of ``job``. Raises DataError if it has no checkpoint."""
    folder = job_workspace(job) / "checkpoint"
    found = latest_checkpoint(folder)
    if found is None:
        raise DataError(f"{folder}: expected a checkpoint, got none; train with `netpart run`, or name a --checkpoint")
    return found


def _leaves_folder(folder: Path) -> bool:
    """True for a path that, as written, may leave the current folder. Links in the path are the user's own, so they are
    allowed."""
    # In the root folder every absolute path is within it, so there any absolute path counts as leaving.
    here = Path.cwd()
    return ".." in folder.parts or (folder.is_absolute() and (here == here.parent or not folder.is_relative_to(here)))


def refuse_removal(file: IO[str], path: Path) -> None:
    """Raise DataError unless ``file``, which this run has open, is still the file at ``path`` in its workspace."""
    try:
        # Compares device and inode: a new file under the same name is not the run's file.
        there = os.path.samestat(os.stat(path), os.fstat(file.fileno()))
        got = "another file"
    except OSError:
        there, got = False, "nothing there"
    if not there:
        problem = f"expected {path.name} where this run created it, got {got}"
        hint = "if the folder was moved, copy the logs and checkpoints from there; if it was removed, they are lost"
        raise DataError(f"workspace {path.parent}: {problem}; {hint}")
