"""The choice of the kernels that compute a job."""

from __future__ import annotations

from netpart.choices import AUTO, CUDA, REFERENCE
from netpart.errors import NetpartError
from netpart.graph.narrow_storage import stores_bfloat16
from netpart.kernels.choose import KernelChoice, check_precision, choose_kernels, kernel_class
from netpart.kernels.reference import Kernels
from netpart.kernels.reference_channels_last import ChannelsLastKernels
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto, KernelSet, Products


def choose_job_kernels(job: JobProto) -> KernelChoice:
    """The kernels of ``job`` on this host.

    Raises NetpartError if the job names kernels that are missing here, or a precision that they do not support.
    """
    found = choose_kernels(_requested_kernels(job), _element_dtype(job), _requested_device(job))
    check_precision(product_precision(job), _element_dtype(job), found.name, _requested_device(job))
    return found


def job_kernel_class(job: JobProto, device: str = "") -> type[Kernels]:
    """The class of the kernels of ``job``, for a worker on ``device`` ("cpu", "cuda", or "" if not assigned).

    In a job whose other workers use GPUs, a CPU worker uses the fastest kernels it has for the GPUs' memory order.
    """
    if not device:
        return kernel_class(choose_job_kernels(job).name)
    if device != "cpu" and stores_bfloat16(job):
        raise NetpartError(
            f"--precision bfloat16: expected a worker on a CPU, as the others are, got one on {device}; "
            f"use --device cpu, or --kernels cuda for GPUs alone"
        )
    if device != "cpu" or _requested_kernels(job) != CUDA:
        return kernel_class(choose_kernels(_requested_kernels(job), _element_dtype(job), device).name)
    found = choose_kernels(AUTO, _element_dtype(job), device).name
    return ChannelsLastKernels if found == REFERENCE else kernel_class(found)


def record_kernel_choice(job: JobProto) -> KernelChoice:
    """Write the choice of this host into ``job``, so that workers on other hosts make the same one."""
    found = choose_job_kernels(job)
    job.MergeFrom(JobProto(kernels=found.name.upper()))
    return found


def _requested_kernels(job: JobProto) -> str:
    """The kernels that the job names, in lower case."""
    return KernelSet.Name.Name(job.kernels).lower()


def _requested_device(job: JobProto) -> str:
    """The device that the job names: "auto", "cpu" or "cuda"."""
    return JobProto.Device.Name(job.device).lower()


def _element_dtype(job: JobProto) -> str:
    """The name of the job's element type."""
    return f"float{8 * float_size(job)}"


def product_precision(job: JobProto) -> str:
    """The precision in which products are computed in this job."""
    return Products.Precision.Name(job.precision).lower()
