"""Elastic choice: between how many workers a run may have, and what cannot be elastic."""

from __future__ import annotations

from netpart.choices import JOIN, LOCAL, RAY
from netpart.errors import ConfigError
from netpart.proto.cluster import cluster_of
from netpart.proto.job_pb2 import JobProto, Schedule
from netpart.proto.limits import WORKERS

ELASTIC_LAUNCHERS = LOCAL, JOIN, RAY
"""The launchers whose workers can be lost one by one."""
AT = ("elastic",)


def refuse_inelastic(job: JobProto, workers: int, launcher: str, respawn: bool = False) -> None:
    """Raise ConfigError if ``job`` is elastic and cannot be, on ``workers`` workers started by ``launcher``; and for
    ``respawn`` of lost workers in a run that is not elastic."""
    if not job.HasField("elastic"):
        if respawn:
            raise ConfigError("--respawn", "--elastic MIN..MAX with it", "none", "add it, or omit --respawn")
        return
    cluster = cluster_of(job, workers)
    if launcher not in ELASTIC_LAUNCHERS:
        known = ", ".join(ELASTIC_LAUNCHERS)
        raise ConfigError("--elastic", f"--launcher {known}", launcher, "its workers end together; use --resume")
    if cluster.servers:
        raise ConfigError("elastic", "workers without servers", "nserver_groups", "their values are not copied", at=AT)
    if cluster.groups > 1:
        hint = "groups that train asynchronously have no common step; omit elastic"
        raise ConfigError("elastic", "one worker group", f"{cluster.groups}", hint, at=AT)
    if job.neuralnet.schedule == Schedule.DELAYED:
        hint = "its steps overlap; use 1f1b or gpipe, or omit elastic"
        raise ConfigError("elastic", "a schedule whose steps end", "the schedule delayed", hint, at=AT)
    _check_range(job, cluster.size)


def _check_range(job: JobProto, size: int) -> None:
    """Raise ConfigError unless 1 <= min <= workers <= max, and snapshots have a frequency."""
    least, most = job.elastic.min_workers, most_workers(job, size)
    if not 1 <= least <= size <= most <= WORKERS:
        hint = "give --elastic MIN..MAX around --workers"
        raise ConfigError("elastic", f"{least} <= workers <= {most}, from 1 to {WORKERS}", f"{size}", hint, at=AT)
    if job.elastic.snapshot_freq < 1:
        got = str(job.elastic.snapshot_freq)
        raise ConfigError("elastic.snapshot_freq", "at least 1 step", got, "10 is usual", at=(*AT, "snapshot_freq"))


def most_workers(job: JobProto, size: int) -> int:
    """The most workers of an elastic run that starts with ``size``."""
    return job.elastic.max_workers if job.elastic.HasField("max_workers") else size
