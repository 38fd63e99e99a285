"""netpart.predict: what a trained net computes for rows."""

from __future__ import annotations

from os import PathLike
from typing import Any

from numpy.typing import NDArray

from netpart.api.job_argument import JobOrPath, explained_job, positive_number, read_job_argument, worker_number
from netpart.api.trained_job import find_trained_job
from netpart.launch.report.events import Listener
from netpart.trained.array_source import Source, open_source
from netpart.trained.prediction import predict_array
from netpart.trained.prediction_job import PredictionRequest


def predict(
    job: JobOrPath, checkpoint: str | PathLike[str] | None = None, input: Source = None, workers: int | None = None, *,
    layer: str = "", probabilities: bool = False, rows: int | None = None, launcher: str = "local",
    listener: Listener | None = None, workspace: str | PathLike[str] | None = None,
) -> NDArray[Any]:  # fmt: skip
    """Return what the net of ``checkpoint`` (default: the newest of the workspace) computes for the rows of ``input``.

    ``input``: a file or URL, as for ``netpart predict --input``; an array (rows, *sample) of the values that the net
    reads; or None for the job's own test data. ``rows`` is the number of rows (default: all). The result, in the order
    of the rows: classes, int32, (rows,) or (rows, *places); with ``probabilities`` (rows, classes) or (rows, *places,
    classes); with ``layer`` the values of the first output of that layer, (rows, ...). Numbers have the dtype of the
    job. The other arguments are those of ``run``. Raises ConfigError and DataError for an input, a layer or a
    checkpoint that does not fit the job, and what ``run`` raises.
    """
    rows = None if rows is None else positive_number("rows", rows)
    workers = worker_number(workers)
    trained = find_trained_job(read_job_argument(job), checkpoint, launcher, workspace)
    with explained_job(trained.job), open_source(trained.job, input) as source:
        return predict_array(
            trained.job, trained.checkpoint, PredictionRequest(source, layer, rows), probabilities, workers=workers,
            choice=trained.choice, listener=listener, workspace=trained.workspace,
        )  # fmt: skip
