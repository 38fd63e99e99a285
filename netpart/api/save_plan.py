"""netpart.save_plan: a cut written as a job."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from netpart.api.job_argument import JobOrPath, explained_job, place_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.plan_file import check_plan_file, save_plan_file
from netpart.plan.text.write_plan import write_plan


def save_plan(
    job: JobOrPath, path: str | PathLike[str], workers: int | None = None, *, scheme: str | None = None,
    override: bool = False,
) -> None:  # fmt: skip
    """Write ``job``, cut over ``workers``, to the file ``path`` as a plan: a job with the cut of every layer.

    Relative paths in it are rewritten for its folder. The other arguments are those of ``partition``. Raises what that
    raises, and ConfigError if the folder does not exist or ``path`` is a file that is not a plan.
    """
    path = Path(path)
    check_plan_file(path)
    job = place_job(job, workers, scheme, override)
    with explained_job(job):
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, compact=True)
        text = write_plan(job, cut, f"netpart.save_plan({job.name!r}, {str(path)!r})", path.parent)
    save_plan_file(path, text)
