"""netpart.run: training."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from netpart.api.job_argument import JobOrPath, explained_job, place_job, step_number
from netpart.launch.report.events import Listener, Summary
from netpart.launch.run import run_job


def run(
    job: JobOrPath, workers: int | None = None, *, launcher: str = "local", listener: Listener | None = None,
    steps: int | None = None, workspace: str | PathLike[str] | None = None, scheme: str | None = None,
    override: bool = False,
) -> Summary:  # fmt: skip
    """Train, test and save ``job``, and return a Summary: loss, accuracy, seconds, bytes moved.

    ``launcher``: "local" starts one process per worker, "threads" runs the workers in this process. ``listener`` is
    called with every event of the run. ``steps`` is the number of training steps (default: the job's). ``workspace`` is
    the folder of checkpoints and metrics. ``scheme`` and ``override`` are those of ``partition``. Raises what
    ``partition`` raises, ConfigError for a job without a loss or a number of steps, and WorkerFailed, which names the
    worker, the layer and the step.
    """
    folder = None if workspace is None else Path(workspace)
    job = place_job(job, workers, scheme, override)
    if steps is not None:
        job.proto.train_steps = step_number(steps)
    with explained_job(job):
        return run_job(job, launcher=launcher, listener=listener, workspace=folder)
