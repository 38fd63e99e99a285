"""netpart.look: the rows that a job reads."""

from __future__ import annotations

from netpart.api.job_argument import (
    JobOrPath,
    check_choice,
    explained_job,
    positive_number,
    read_job_argument,
    step_number,
)
from netpart.choices import PHASES
from netpart.measure.data_look import InputLook, look_at_data


def look(job: JobOrPath, *, phase: str = "train", rows: int = 8, sample: int = 1000) -> tuple[InputLook, ...]:
    """Read data of ``job`` as its net in ``phase`` does, and describe it: an InputLook for each input.

    It has the first ``rows``, the classes, figures of the values in ``sample`` rows (0: a whole epoch), and what an
    epoch costs in seconds and bytes. Raises ConfigError for an argument, and DataError for data that cannot be read.
    """
    check_choice("phase", phase, PHASES)
    job = read_job_argument(job)
    with explained_job(job):
        found = look_at_data(job, phase, positive_number("rows", rows), step_number(sample))
        return tuple(look for look, _ in found)
