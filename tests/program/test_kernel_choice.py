"""Which kernels play a job: on this host, and on each worker of a run on several devices."""

from __future__ import annotations

import pytest

from netpart.errors import NetpartError
from netpart.kernels import choose as chooser
from netpart.kernels import reference_channels_last as beside
from netpart.kernels.choose import kernel_class
from netpart.kernels.reference import Kernels
from netpart.program.kernel_choice import choose_job_kernels, job_kernel_class, product_precision, record_kernel_choice
from netpart.proto.job_pb2 import JobProto, KernelSet, Products


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(chooser.VARIABLE, raising=False)


def test_the_choice_of_a_gpu_is_written_into_the_job() -> None:
    job = JobProto(device=JobProto.CUDA)
    assert str(record_kernel_choice(job)).startswith("cuda kernels")
    assert job.kernels == KernelSet.CUDA
    assert job_kernel_class(job) is job_kernel_class(job, "cuda") is kernel_class("cuda")


@pytest.mark.parametrize("dtype", [JobProto.FLOAT32, JobProto.FLOAT64])
def test_a_cpu_beside_gpus_has_tensors_that_lie_as_theirs(dtype: JobProto.DType) -> None:
    found = job_kernel_class(JobProto(kernels=KernelSet.CUDA, device=JobProto.CUDA, dtype=dtype), "cpu")
    assert found.channels_last
    assert found.runs_on == "cpu"


def test_a_cpu_beside_gpus_takes_the_fastest_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    job = JobProto(kernels=KernelSet.CUDA, device=JobProto.CUDA)
    for missing, expected in (("no library", beside.ChannelsLastKernels), ("", kernel_class("onednn"))):
        monkeypatch.setattr(chooser, "probe_onednn", lambda missing=missing: missing)
        assert job_kernel_class(job, "cpu") is expected


def test_a_gpu_beside_cpus_has_tensors_that_lie_as_theirs() -> None:
    assert job_kernel_class(JobProto(kernels=KernelSet.ONEDNN), "cuda") is kernel_class("cuda")
    assert job_kernel_class(JobProto(kernels=KernelSet.REFERENCE), "cuda") is Kernels


def test_a_precision_belongs_to_gpus() -> None:
    job = JobProto(precision=Products.TF32, device=JobProto.CUDA)
    assert (choose_job_kernels(job).name, product_precision(job)) == ("cuda", "tf32")
    job.device = JobProto.CPU
    with pytest.raises(NetpartError, match="--precision tf32: expected cuda kernels, got"):
        choose_job_kernels(job)
