"""Which jobs store their activations in bfloat16."""

from __future__ import annotations

from netpart.choices import AUTO, CUDA
from netpart.kernels.choose import choose_kernels
from netpart.proto.job_pb2 import JobProto, KernelSet, Products


def stores_bfloat16(job: JobProto) -> bool:
    """True for a job of precision BFLOAT16 that CPUs compute. GPUs round the factors of products, and store float32.

    It depends on the job alone once its kernels are recorded there, and until then on this host.
    """
    if job.precision != Products.BFLOAT16 or job.dtype != JobProto.FLOAT32 or job.device == JobProto.CUDA:
        return False
    if job.kernels == KernelSet.AUTO:
        return choose_kernels(AUTO, "float32", JobProto.Device.Name(job.device).lower()).name != CUDA
    return job.kernels != KernelSet.CUDA
