"""Predictions: a trained net played forward on any number of workers, for the rows of a source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.errors import JobError
from netpart.launch.evaluate import EvaluatedPhase, partition_evaluation, play_evaluation
from netpart.launch.report.events import Listener, Summary
from netpart.launch.run import LaunchChoice
from netpart.proto.element import float_size
from netpart.trained.prediction_files import PredictionOutput, TakeRows, open_output
from netpart.trained.prediction_job import PredictionJob, PredictionRequest, make_prediction_job, relocate_faults
from netpart.trained.session import PHASE

if TYPE_CHECKING:
    from netpart.proto.reader import Job

FOLDER = "predict"
"""The folder for logs, in the job's workspace."""


class Prediction(NamedTuple):
    """What was predicted, and the summary of the run that did it."""

    plan: PredictionJob
    summary: Summary


def predict_rows(
    job: Job, checkpoint: Path, request: PredictionRequest, output: PredictionOutput, *, workers: int | None = None,
    choice: LaunchChoice | None = None, listener: Listener | None = None, workspace: Path | None = None,
) -> Prediction:  # fmt: skip
    """Write the predictions for every row of the source to ``output``, in the order of the source.

    Only the layers that they depend on are built and compiled, forward alone. Each worker holds the values that are
    still to be read, and its part of the parameters. Raises ConfigError and DataError for a request, a checkpoint or
    rows that do not fit the job, and else what ``netpart.launch.run.run_job`` raises.
    """
    plan = make_prediction_job(job, request)
    played = EvaluatedPhase(PHASE, plan.batches, FOLDER, workspace)
    choice = choice or LaunchChoice()
    count = job.worker_count if workers is None else workers
    choice.check(count)
    dtype = np.dtype(f"f{float_size(job.proto)}")
    try:
        cut = partition_evaluation(plan.job, checkpoint, played, count)
        with open_output(output, plan, dtype) as take:
            kept = _cut_last_batch(plan, take)
            return Prediction(plan, play_evaluation(plan.job, cut, checkpoint, played, choice, listener, kept))
    except JobError as error:
        relocate_faults(error, job.proto, plan.job.proto)
        raise


def _cut_last_batch(plan: PredictionJob, take: TakeRows) -> Any:
    """The function that passes mini-batches on to ``take``, the last one without the rows that only fill it."""

    def take_batch(number: int, values: NDArray[Any]) -> None:
        take(values[: plan.rows - number * plan.batch])

    return take_batch
