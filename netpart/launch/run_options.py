"""Where a run begins: its workspace, the checkpoint that it starts from, and its first step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import latest_checkpoint, parse_step, updater_file
from netpart.errors import ConfigError, DataError
from netpart.launch.control.worker_devices import requested_places
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.report.workspace import choose_workspace
from netpart.proto.limits import EXTENT
from netpart.updaters import AVERAGE
from netpart.worker.initial_values import named_checkpoint, open_named_checkpoint

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

REPORT_EVERY = 20
"""Default number of steps between two reports, for a job that does not set ``disp_freq``."""


def make_run_options(job: Job, workspace: Path | None) -> RunOptions:
    """Resolve the workspace, the checkpoint to start from, and the first step."""
    proto = job.proto
    folder = choose_workspace(job, workspace)
    restore, first = find_start_checkpoint(proto, folder / "checkpoint")
    every = proto.disp_freq or REPORT_EVERY
    resumed = bool(proto.resume and restore is not None and restore == latest_checkpoint(folder / "checkpoint"))
    # Only a new run starts from averages. A resumed run continues from its own parameters, or it would not be the same
    # run.
    averages = proto.updater.ema_start and not resumed
    if averages:
        check_averages(restore)
    return RunOptions(
        job.folder,
        folder,
        proto.seed,
        ",".join(requested_places(proto)),
        proto.deadline,
        every,
        restore,
        first,
        resumed,
        averages=averages,
    )


def check_averages(restore: Path | None) -> None:
    """Raise ConfigError without a checkpoint to start from, DataError for a checkpoint without averages of
    parameters."""
    if restore is None:
        where = ("updater", "ema_start")
        raise ConfigError(".".join(where), "a checkpoint to start from", "none", "add checkpoint_path", at=where)
    with open_checkpoint(updater_file(restore)) as saved:
        if not any(name.endswith(f".{AVERAGE}") for name in saved.tensors):
            some = ", ".join(sorted(saved.tensors)[:4])
            raise DataError(f"{saved.path}: expected averages, got {some}; train with updater.ema_decay to have them")


def find_start_checkpoint(proto: JobProto, checkpoints: Path) -> tuple[Path | None, int]:
    """The checkpoint to read, if any, and the first step to play. Raises DataError for an invalid checkpoint."""
    newest = latest_checkpoint(checkpoints) if proto.resume else None
    chosen = newest or named_checkpoint(proto)
    if chosen is None:
        return None, proto.step
    with open_checkpoint(chosen) if newest else open_named_checkpoint(proto, chosen) as saved:
        recorded = saved.metadata.get("step")
    return chosen, proto.step if newest is None else _resumed_step(proto, chosen, recorded)


def _resumed_step(proto: JobProto, path: Path, recorded: str | None) -> int:
    """The step of the checkpoint ``path`` from which a run resumes: the one in its file name.

    ``recorded`` is the step in its metadata, if any. Raises DataError if the two differ, ConfigError for a step after
    the job's last.
    """
    step = parse_step(path)
    end = proto.train_steps or EXTENT
    if recorded not in (None, str(step)):
        hint = "remove it, or name it in checkpoint_path instead"
        raise DataError(f"{path}: expected step {step} in its metadata, as in its name, got {recorded!r:.40}; {hint}")
    if step > end:
        hint = "use --steps for more, or `netpart evaluate` to test it"
        raise ConfigError(str(path), f"a step from 0 to {end}, where the job ends", str(step), hint)
    return step
