"""Predictions: a trained net played forward on any number of workers, for the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.errors import ConfigError
from netpart.launch.evaluate import EvaluatedPhase, partition_evaluation, play_evaluation
from netpart.launch.report.events import Listener, Summary
from netpart.launch.run import LaunchChoice
from netpart.proto.element import float_size
from netpart.proto.reader import Job
from netpart.trained.prediction_arrays import array_form
from netpart.trained.prediction_files import PredictionOutput, TakeRows, open_output
from netpart.trained.prediction_job import PredictionJob, PredictionRequest, located_in, make_prediction_job
from netpart.trained.session import PHASE

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
    dtype = np.dtype(f"f{float_size(job.proto)}")
    launch = _PredictionLaunch(job, checkpoint, plan, workers, choice or LaunchChoice(), listener, workspace)
    return launch.play(lambda: open_output(output, plan, dtype))


def predict_array(
    job: Job, checkpoint: Path, request: PredictionRequest, every: bool = False, *, workers: int | None = None,
    choice: LaunchChoice | None = None, listener: Listener | None = None, workspace: Path | None = None,
) -> NDArray[Any]:  # fmt: skip
    """The predictions for every row of the source, as an array: what ``predict_rows`` writes to a file .npy.

    Raises what ``predict_rows`` raises.
    """
    if request.layer and every:
        raise ConfigError("probabilities", "none with a layer", request.layer, "values of a layer have no classes")
    plan = make_prediction_job(job, request)
    form = array_form(plan, every, np.dtype(f"f{float_size(job.proto)}"))
    found = list[NDArray[Any]]()
    launch = _PredictionLaunch(job, checkpoint, plan, workers, choice or LaunchChoice(), listener, workspace)
    # A copy: the buffer of a mini-batch is used again for the next one.
    launch.play(lambda: nullcontext(lambda rows: found.append(form.convert(rows).copy())))
    return np.concatenate([np.empty((0, *form.shape), form.dtype), *found])


class _PredictionLaunch(NamedTuple):
    """How the job of a prediction is played; ``job`` is the whole job, for errors."""

    job: Job
    checkpoint: Path
    plan: PredictionJob
    workers: int | None
    choice: LaunchChoice
    listener: Listener | None
    workspace: Path | None

    def play(self, open_rows: Callable[[], AbstractContextManager[TakeRows]]) -> Prediction:
        """Play the prediction; what ``open_rows`` opens takes the values of its rows."""
        plan = self.plan
        played = EvaluatedPhase(PHASE, plan.batches, FOLDER, self.workspace)
        count = self.job.worker_count if self.workers is None else self.workers
        self.choice.check(count)
        with located_in(self.job.proto, plan.job.proto, plan.source):
            cut = partition_evaluation(plan.job, self.checkpoint, played, count)
            with open_rows() as take:
                kept = _cut_last_batch(plan, take)
                found = play_evaluation(plan.job, cut, self.checkpoint, played, self.choice, self.listener, kept)
                return Prediction(plan, found)


def _cut_last_batch(plan: PredictionJob, take: TakeRows) -> Any:
    """The function that passes mini-batches on to ``take``, the last one without the rows that only fill it."""

    def take_batch(number: int, values: NDArray[Any]) -> None:
        take(values[: plan.rows - number * plan.batch])

    return take_batch
