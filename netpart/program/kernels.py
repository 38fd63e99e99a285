"""Which kernels play a job."""

from __future__ import annotations

from netpart.choices import AUTO, CUDA, REFERENCE
from netpart.kernels import beside
from netpart.kernels.choose import Choice, check_precision, choose, named
from netpart.kernels.reference import Kernels
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto, KernelSet, Products


def choice(job: JobProto) -> Choice:
    """The kernels of ``job`` on this host. Raises NetpartError for those that it wants and that are missing here, and
    for a precision that they do not have."""
    found = choose(_wanted(job), _dtype_of(job), _device_of(job))
    check_precision(precision_of(job), _dtype_of(job), found.name)
    return found


def kernels_of(job: JobProto, device: str = "") -> type[Kernels]:
    """Their class. ``device`` ("cpu" or "cuda") is that of a worker who is told; beside GPUs a CPU computes with the
    fastest kernels it has for tensors that lie as theirs do."""
    if not device:
        return named(choice(job).name)
    if device != "cpu" or _wanted(job) != CUDA:
        return named(choose(_wanted(job), _dtype_of(job), device).name)
    found = choose(AUTO, _dtype_of(job), device).name
    return beside.Kernels if found == REFERENCE else named(found)


def settle(job: JobProto) -> Choice:
    """Writes the choice of this host into ``job``, so that workers of other hosts make no other."""
    found = choice(job)
    job.MergeFrom(JobProto(kernels=found.name.upper()))
    return found


def _wanted(job: JobProto) -> str:
    """The kernels that the job names."""
    return KernelSet.Name.Name(job.kernels).lower()


def _device_of(job: JobProto) -> str:
    """Where it is to be played: "auto", "cpu" or "cuda"."""
    return JobProto.Device.Name(job.device).lower()


def _dtype_of(job: JobProto) -> str:
    """Its element type."""
    return f"float{8 * float_size(job)}"


def precision_of(job: JobProto) -> str:
    """What a GPU computes products with."""
    return Products.Precision.Name(job.precision).lower()
