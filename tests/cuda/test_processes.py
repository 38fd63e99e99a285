"""Law 9 on GPUs: LeNet in processes that exchange tensors in any way is LeNet on one worker on the CPU, in float64."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from netpart.kernels.device import count_gpus
from netpart.launch.control.worker_devices import set_devices
from netpart.launch.report.events import Event, Started, Summary
from netpart.launch.run import run_job
from netpart.plan.partition import partition_by_scheme
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.job_pb2 import Collectives, JobProto, Scheme, Sharding
from netpart.proto.reader import Job
from netpart.worker.ensemble import Ensemble
from tests.cuda.module import ON_GPU, provide
from tests.laws.test_kernel_sets import job_of
from tests.laws.test_processes import Tensors

pytestmark = pytest.mark.slow
STEPS, TOLERANCE = 3, 1e-11
"""Third steps are replayed, on the GPU."""
DATA, AS_WRITTEN = Scheme.DATA, Scheme.AS_WRITTEN


def lenet(devices: str, scheme: Scheme) -> JobProto:
    found = job_of("mnist/conv", "FLOAT64")
    set_devices(found, devices)
    found.train_steps = STEPS
    found.test_steps = 0
    found.num_openblas_threads = 1
    found.neuralnet.scheme = scheme
    return found


@cache
def expected() -> Tensors:
    """The parameters behind the last step on one worker on the CPU."""
    job = lenet("cpu", AS_WRITTEN)
    ensemble = Ensemble(partition_by_scheme(job, 1), kernels=job_kernel_class(job))
    ensemble.initialise()
    for step in range(STEPS):
        ensemble.step("train", step)
    found = ensemble.partition.parameters
    return {p.name: ensemble.parameter(p.name).reshape(p.spec.saved or p.spec.shape) for p in found}


@pytest.mark.parametrize(
    ("devices", "workers", "wanted", "scheme", "through"),
    [
        ("cuda", 2, "auto", AS_WRITTEN, "cuda-ipc"), ("cuda:0,cuda:1", 4, "auto", DATA, "cuda-ipc"),
        ("cpu,cuda", 4, "auto", AS_WRITTEN, "cuda-ipc"), ("cpu,cuda", 2, "shm", DATA, "shm"),
        ("cuda", 2, "zeromq", AS_WRITTEN, "zeromq"),
    ],
)  # fmt: skip
def test_processes_on_gpus_compute_what_one_worker_does(
    devices: str, workers: int, wanted: str, scheme: Scheme, through: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    provide(monkeypatch, gpus=2)
    if ON_GPU and count_gpus() < devices.count("cuda:"):
        pytest.skip(f"needs {devices.count('cuda:')} GPUs, and there are {count_gpus()}")
    heard: list[Event] = []
    job = Job(lenet(devices, scheme), None, "job", "")
    summary = run_job(job, workers, workspace=tmp_path, transport=wanted, listener=heard.append)
    assert [event.transport for event in heard if isinstance(event, Started)] == [through]
    assert {device.partition(":")[0] for device in summary.devices} == {d.partition(":")[0] for d in devices.split(",")}
    check(summary)


@pytest.mark.parametrize(
    ("workers", "scheme", "collectives", "wanted"),
    [
        (2, DATA, "auto", "auto"), (4, DATA, "nccl", "auto"), (4, AS_WRITTEN, "nccl", "cuda-ipc"),
        (2, DATA, "nccl", "zeromq"),
    ],
)  # fmt: skip
def test_workers_with_a_gpu_each_share_collectives_of_nccl(
    workers: int, scheme: Scheme, collectives: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(monkeypatch, gpus=workers)
    if ON_GPU and count_gpus() < workers:
        pytest.skip(f"needs {workers} GPUs, and there are {count_gpus()}")
    job = Job(lenet("cuda", scheme), None, "job", "")
    job.proto.collectives = getattr(Collectives, collectives.upper())
    job.proto.shard_updates = Sharding.YES
    summary = run_job(job, workers, workspace=tmp_path, transport=wanted)
    assert len(set(summary.devices)) == workers
    assert all("NCCL among workers 0, 1" in file.read_text() for file in (tmp_path / "log").iterdir())
    check(summary)


def check(summary: Summary) -> None:
    """It moved what was predicted, and trained what one worker trains."""
    assert summary.bytes_counted == summary.bytes_predicted > 0
    found = load_file(summary.checkpoint)
    assert found.keys() == expected().keys()
    for name, value in expected().items():
        np.testing.assert_allclose(found[name], value, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
