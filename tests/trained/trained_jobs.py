"""Trained jobs, and predictions with them, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.launch.run import LaunchChoice, run_job
from netpart.proto.reader import Job
from netpart.trained.prediction import Prediction, predict_rows
from netpart.trained.prediction_files import PredictionOutput
from netpart.trained.prediction_job import PredictionRequest
from netpart.trained.session import Session

THREADS = LaunchChoice("threads")
CLOSE = 1e-11
Values = NDArray[Any]


class Trained:
    """A job after a few steps, and predictions with it."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folder = folder
        summary = run_job(job, 2, launcher="threads", workspace=folder / "run")
        self.checkpoint = Path(summary.checkpoint)

    def predict(
        self, name: str, workers: int = 1, every: bool = False, request: PredictionRequest | None = None
    ) -> Prediction:
        output = PredictionOutput(self.folder / name, every)
        return predict_rows(
            self.job, self.checkpoint, request or PredictionRequest(self.folder / "rows.npy"), output,
            workers=workers, choice=THREADS, workspace=self.folder / "predict",
        )  # fmt: skip

    def array(self, workers: int = 1, every: bool = True, **request: Any) -> Values:
        given = PredictionRequest(**{"source": self.folder / "rows.npy", **request})
        self.predict("found.npy", workers, every, given)
        found: Values = np.load(self.folder / "found.npy")
        return found

    def uncut(self, layer: str, rows: Values, data: str = "data") -> Values:
        """The values of ``layer`` for ``rows``, of the whole net in this process."""
        session = Session(self.job, [layer], self.checkpoint, rows=len(rows))
        session.run({data: rows})
        return session.value(layer).copy()
