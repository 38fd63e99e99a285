"""Which kernels play a job."""

from __future__ import annotations

from netpart.kernels.choose import Choice, choose, named
from netpart.kernels.reference import Kernels
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto, KernelSet


def choice(job: JobProto) -> Choice:
    """The kernels of ``job`` on this host. Raises NetpartError for those that it wants and that are missing here."""
    wanted, device = KernelSet.Name.Name(job.kernels).lower(), JobProto.Device.Name(job.device).lower()
    return choose(wanted, f"float{8 * float_size(job)}", device)


def kernels_of(job: JobProto) -> type[Kernels]:
    """Their class."""
    return named(choice(job).name)


def settle(job: JobProto) -> Choice:
    """Writes the choice of this host into ``job``, so that workers of other hosts make no other."""
    found = choice(job)
    job.MergeFrom(JobProto(kernels=found.name.upper()))
    return found
