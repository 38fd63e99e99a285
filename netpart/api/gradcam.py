"""netpart.gradcam: where in a sample a trained net finds the evidence for a class."""

from __future__ import annotations

from os import PathLike

from netpart.api.job_argument import JobOrPath, check_choice, explained_job, read_job_argument, step_number
from netpart.api.trained_job import find_trained_job
from netpart.choices import CAM_METHODS
from netpart.trained.gradcam import SampleExplainer, SampleExplanation


def gradcam(
    job: JobOrPath, checkpoint: str | PathLike[str] | None = None, sample: int = 0, *, layer: str = "",
    target: int | None = None, method: str = CAM_METHODS[0],
) -> SampleExplanation:  # fmt: skip
    """Explain test sample number ``sample`` by the net of ``checkpoint`` (default: the newest of the workspace).

    Returns a SampleExplanation: ``map`` (*space) is the evidence for the class ``target`` (default: the predicted one),
    from 0 to 1, with the sample, its class and the probabilities. ``layer`` is the one whose output is weighted
    (default: the last with spatial axes); ``method`` is "gradcam", with gradients averaged over space, or "hirescam".
    Raises ConfigError for an argument or a net that cannot be explained, DataError for data and checkpoints.
    """
    check_choice("method", method, CAM_METHODS)
    read = read_job_argument(job)
    trained = find_trained_job(read, checkpoint, "threads", None)
    with explained_job(read):
        return SampleExplainer(read, trained.checkpoint, layer, method).explain(step_number(sample), target)
