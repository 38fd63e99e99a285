"""Default number of workers of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto


def default_workers(job: JobProto) -> int:
    """The number of workers in the job: ``cluster.nworkers_per_group``, or else one more than its highest location."""
    if job.cluster.HasField("nworkers_per_group"):
        return job.cluster.nworkers_per_group
    named = [w for layer in job.neuralnet.layer for w in layer.location]
    named += [w for layer in job.neuralnet.layer for cut in layer.cut for w in cut.location]
    named += [shard.worker for layer in job.neuralnet.layer for shard in layer.shard]
    # Workers count from 0.
    return max(named, default=0) + 1
