"""Which kernels play a job: on this host, and on each worker of a run on several devices."""

from __future__ import annotations

import pytest

from netpart.errors import NetpartError
from netpart.kernels import beside
from netpart.kernels import choose as chooser
from netpart.kernels.choose import named
from netpart.kernels.reference import Kernels
from netpart.program.kernels import choice, kernels_of, precision_of, settle
from netpart.proto.job_pb2 import JobProto, KernelSet, Products


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(chooser.VARIABLE, raising=False)


def test_the_choice_of_a_gpu_is_written_into_the_job() -> None:
    job = JobProto(device=JobProto.CUDA)
    assert str(settle(job)).startswith("cuda kernels")
    assert job.kernels == KernelSet.CUDA
    assert kernels_of(job) is kernels_of(job, "cuda") is named("cuda")


@pytest.mark.parametrize("dtype", [JobProto.FLOAT32, JobProto.FLOAT64])
def test_a_cpu_beside_gpus_has_tensors_that_lie_as_theirs(dtype: JobProto.DType) -> None:
    found = kernels_of(JobProto(kernels=KernelSet.CUDA, device=JobProto.CUDA, dtype=dtype), "cpu")
    assert found.channels_last
    assert found.runs_on == "cpu"


def test_a_cpu_beside_gpus_takes_the_fastest_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    job = JobProto(kernels=KernelSet.CUDA, device=JobProto.CUDA)
    for missing, expected in (("no library", beside.Kernels), ("", named("onednn"))):
        monkeypatch.setattr(chooser, "refusal", lambda missing=missing: missing)
        assert kernels_of(job, "cpu") is expected


def test_a_gpu_beside_cpus_has_tensors_that_lie_as_theirs() -> None:
    assert kernels_of(JobProto(kernels=KernelSet.ONEDNN), "cuda") is named("cuda")
    assert kernels_of(JobProto(kernels=KernelSet.REFERENCE), "cuda") is Kernels


def test_a_precision_belongs_to_gpus() -> None:
    job = JobProto(precision=Products.TF32, device=JobProto.CUDA)
    assert (choice(job).name, precision_of(job)) == ("cuda", "tf32")
    job.device = JobProto.CPU
    with pytest.raises(NetpartError, match="--precision tf32: expected cuda kernels, got"):
        choice(job)
