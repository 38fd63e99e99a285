"""Notices about checkpoints that earlier runs left in a workspace, shown before the next run begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import best_file, latest_checkpoint, parse_step
from netpart.errors import NetpartError

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto


def earlier_run_notices(job: JobProto, folder: Path) -> Iterator[str]:
    """Notices for a job that writes to the checkpoint folder ``folder``.

    There is one if ``--resume`` finds no checkpoint or no step left to train, one if a new run ends before the
    checkpoints in ``folder``, so that these would count as its newest, and one if it replaces the best checkpoint.
    """
    yield from _best_file_notices(job, folder)
    newest = latest_checkpoint(folder)
    if job.resume and newest is None:
        begin = job.checkpoint_path[-1] if job.checkpoint_path else f"step {job.step}"
        yield f"--resume: {folder} has no checkpoint; the run begins with {begin}"
    elif newest is not None and parse_step(newest) >= job.train_steps:
        if job.resume and job.train_steps == parse_step(newest):
            yield (
                f"--resume: {newest} has all {job.train_steps} steps, so none is left to train; use --steps for more,"
                " or `netpart evaluate` to test it"
            )
        elif not job.resume and parse_step(newest) > job.train_steps:
            yield (
                f"{newest} is of an earlier run that went further; --resume and the verbs for trained nets take it"
                " for the newest: remove it, or name another --workspace"
            )


def _best_file_notices(job: JobProto, folder: Path) -> Iterator[str]:
    """The notice that a run, which begins to judge anew, replaces the best checkpoint of an earlier one."""
    path = best_file(folder)
    if job.checkpoint_best and path.exists() and not (job.resume and latest_checkpoint(folder)):
        yield (
            f"{path}{_best_value_text(path)} is of an earlier run; this one replaces it, by a worse one if need be, at"
            " its first validation after training: copy it, or name another --workspace"
        )


def _best_value_text(path: Path) -> str:
    """The value of a best checkpoint, in brackets; "" if the file does not tell it."""
    try:
        with open_checkpoint(path) as saved:
            noted = saved.metadata
            return f" ({noted['best_metric']} = {float(noted['best_value']):.6f} at step {int(noted['step'])})"
    except (NetpartError, KeyError, ValueError):
        return ""
