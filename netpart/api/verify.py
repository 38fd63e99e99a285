"""netpart.verify: the cut net compared with the uncut one."""

from __future__ import annotations

from netpart.api.job_argument import JobOrPath, check_choice, explained_job, place_job, positive_number
from netpart.choices import DTYPES
from netpart.proto.job_pb2 import JobProto
from netpart.verify.compare import verify_job
from netpart.verify.report import VerifyReport


def verify(
    job: JobOrPath, workers: int | None = None, *, steps: int = 3, dtype: str = "float64", scheme: str | None = None,
    override: bool = False,
) -> VerifyReport:  # fmt: skip
    """Train ``job`` for ``steps`` steps, cut over ``workers`` and uncut, and compare all tensors of both nets.

    Returns a VerifyReport: ``holds`` is True if the nets agree, ``first`` is the first tensor that differs more than
    another order of addition explains, or None; ``layers`` has the largest differences by layer. ``dtype`` is that of
    both nets, "float64" or "float32". The other arguments are those of ``partition``. Raises what that raises,
    DataError for the job's data, and MemoryRefused if both nets do not fit into this process.
    """
    check_choice("dtype", dtype, DTYPES)
    steps = positive_number("steps", steps)
    job = place_job(job, workers, scheme, override)
    job.proto.dtype = getattr(JobProto, dtype.upper())
    with explained_job(job):
        return verify_job(job.proto, job.worker_count, steps, job.folder)
