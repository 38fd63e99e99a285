"""netpart.check: what a cut net costs, layer by layer and worker by worker."""

from __future__ import annotations

from netpart.api.job_argument import JobOrPath, explained_job, place_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.plan_table import PlanTable, tabulate_partition


def check(
    job: JobOrPath, workers: int | None = None, *, scheme: str | None = None, override: bool = False
) -> PlanTable:
    """The cost of a training step of ``job``: parameters, FLOPs, bytes moved and bytes of memory, by layer and worker.

    Arguments and errors are those of ``partition``.
    """
    job = place_job(job, workers, scheme, override)
    with explained_job(job):
        return tabulate_partition(partition_by_scheme(job.proto, job.worker_count, job.folder, compact=True))
