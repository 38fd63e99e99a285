"""netpart.partition: a job's nets, cut over workers."""

from __future__ import annotations

from netpart.api.job_argument import JobOrPath, explained_job, place_job
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_scheme


def partition(
    job: JobOrPath, workers: int | None = None, scheme: str | None = None, *, override: bool = False
) -> Partition:
    """Cut the nets of all phases over ``workers`` workers (default: the number that the job asks for).

    ``scheme`` places all layers at once (default: the job's scheme), e.g. "COLUMN_ROW"; docs/schemes.md lists them. A
    scheme keeps the layers that have a cut of their own, and warns if that is every layer. ``override`` replaces these
    cuts. Raises what ``build`` raises, ConfigError for an impossible cut or location, and TypeError if ``workers`` is
    not a whole number.
    """
    job = place_job(job, workers, scheme, override)
    with explained_job(job):
        return partition_by_scheme(job.proto, job.worker_count, job.folder)
