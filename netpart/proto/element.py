"""Size of the floating-point numbers of a job."""

from __future__ import annotations

from netpart.proto.job_pb2 import JobProto


def float_size(job: JobProto) -> int:
    """Bytes of an activation or parameter: 4, or 8 with ``dtype: FLOAT64``."""
    return 8 if job.dtype == JobProto.FLOAT64 else 4
