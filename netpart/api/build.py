"""netpart.build: the uncut net of a job."""

from __future__ import annotations

from netpart.api.job_argument import JobOrPath, explained_job, read_job_argument
from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.proto.phase import PHASE_VALUES


def build(job: JobOrPath, phase: str = "train") -> Net:
    """Build the uncut net of ``phase`` (train, val or test), with all shapes inferred.

    Raises ConfigError for an unknown phase and for a net that cannot be built as it is written. Raises DataError if
    data files that determine shapes are missing or wrong.
    """
    if phase not in PHASE_VALUES:
        raise ConfigError("phase", "train, val or test", repr(phase), "pass one of them")
    job = read_job_argument(job)
    with explained_job(job):
        return build_net(job.proto, phase, job.folder)
