"""netpart.evaluate: a test or validation from a checkpoint."""

from __future__ import annotations

from os import PathLike

from netpart.api.job_argument import (
    JobOrPath,
    check_choice,
    explained_job,
    read_job_argument,
    step_number,
    worker_number,
)
from netpart.api.trained_job import find_trained_job
from netpart.choices import TEST, VALIDATION
from netpart.launch.evaluate import EvaluatedPhase, evaluate_job
from netpart.launch.report.events import Listener, Summary


def evaluate(
    job: JobOrPath, checkpoint: str | PathLike[str] | None = None, workers: int | None = None, *, phase: str = "test",
    steps: int | None = None, launcher: str = "local", listener: Listener | None = None,
    workspace: str | PathLike[str] | None = None,
) -> Summary:  # fmt: skip
    """Play the test or validation phase of ``job`` from ``checkpoint`` (default: the newest of its workspace).

    Returns a Summary; its ``test`` or ``validation`` are the metrics, by names such as "loss/accuracy". ``steps`` is
    the number of mini-batches (default: the job's test_steps or validate_steps). Nothing is trained, and no checkpoint
    is written. The other arguments are those of ``run``; ``workspace`` is the folder of logs and metrics. Raises
    ConfigError for a job without this phase, DataError for a checkpoint that is missing, damaged or of another net, and
    what ``run`` raises.
    """
    check_choice("phase", phase, (TEST, VALIDATION))
    steps = None if steps is None else step_number(steps)
    workers = worker_number(workers)
    trained = find_trained_job(read_job_argument(job), checkpoint, launcher, workspace)
    played = EvaluatedPhase(phase, steps, workspace=trained.workspace)
    with explained_job(trained.job):
        return evaluate_job(
            trained.job, trained.checkpoint, played, workers=workers, choice=trained.choice, listener=listener
        )
