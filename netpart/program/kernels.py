"""Which kernels play a job."""

from __future__ import annotations

from netpart.choices import AUTO, CUDA, REFERENCE
from netpart.kernels import beside
from netpart.kernels.choose import KernelChoice, check_precision, choose_kernels, kernel_class
from netpart.kernels.reference import Kernels
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto, KernelSet, Products


def choose_job_kernels(job: JobProto) -> KernelChoice:
    """The kernels of ``job`` on this host. Raises NetpartError for those that it wants and that are missing here, and
    for a precision that they do not have."""
    found = choose_kernels(_requested_kernels(job), _element_dtype(job), _requested_device(job))
    check_precision(product_precision(job), _element_dtype(job), found.name)
    return found


def job_kernel_class(job: JobProto, device: str = "") -> type[Kernels]:
    """Their class. ``device`` ("cpu" or "cuda") is that of a worker who is told; beside GPUs a CPU computes with the
    fastest kernels it has for tensors that lie as theirs do."""
    if not device:
        return kernel_class(choose_job_kernels(job).name)
    if device != "cpu" or _requested_kernels(job) != CUDA:
        return kernel_class(choose_kernels(_requested_kernels(job), _element_dtype(job), device).name)
    found = choose_kernels(AUTO, _element_dtype(job), device).name
    return beside.ChannelsLastKernels if found == REFERENCE else kernel_class(found)


def record_kernel_choice(job: JobProto) -> KernelChoice:
    """Writes the choice of this host into ``job``, so that workers of other hosts make no other."""
    found = choose_job_kernels(job)
    job.MergeFrom(JobProto(kernels=found.name.upper()))
    return found


def _requested_kernels(job: JobProto) -> str:
    """The kernels that the job names."""
    return KernelSet.Name.Name(job.kernels).lower()


def _requested_device(job: JobProto) -> str:
    """Where it is to be played: "auto", "cpu" or "cuda"."""
    return JobProto.Device.Name(job.device).lower()


def _element_dtype(job: JobProto) -> str:
    """Its element type."""
    return f"float{8 * float_size(job)}"


def product_precision(job: JobProto) -> str:
    """What a GPU computes products with."""
    return Products.Precision.Name(job.precision).lower()
