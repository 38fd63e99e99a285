"""Which worker computes where."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.launch.control import worker_devices as devices
from netpart.launch.control.worker_devices import assign_devices, requested_places, resolve_devices, set_devices
from netpart.proto.cluster import Cluster
from netpart.proto.job_pb2 import JobProto


@pytest.fixture(params=[0, 1, 3])
def count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many GPUs in this host."""
    found = int(request.param)
    monkeypatch.setattr(devices, "count_gpus", lambda: found)
    return found


def of(text: str, cluster: Cluster) -> list[str]:
    job = JobProto()
    set_devices(job, text)
    return resolve_devices(assign_devices(requested_places(job), cluster))


def test_workers_take_the_gpus_of_the_host_in_turn(count: int) -> None:
    where = {0: ["cpu"] * 4, 1: ["cuda:0"] * 4, 3: ["cuda:0", "cuda:1", "cuda:2", "cuda:0"]}[count]
    assert of("auto", Cluster(4)) == where
    assert of("cuda", Cluster(4)) == (where if count else ["cuda:0"] * 4)  # who plays there says that there is none
    assert of("cpu", Cluster(4)) == ["cpu"] * 4


@pytest.mark.parametrize("count", [3], indirect=True)
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("cuda:2", ["cuda:2"] * 3), ("cpu,cuda", ["cpu", "cuda:0", "cpu"]),
        ("cuda,cuda:2", ["cuda:0", "cuda:2", "cuda:0"]),
        ("cpu,cuda,cuda", ["cpu", "cuda:0", "cuda:1"]), ("cpu,cpu", ["cpu"] * 3),
    ],
)  # fmt: skip
def test_a_list_is_dealt_in_turn(count: int, text: str, where: list[str]) -> None:
    assert of(text, Cluster(3)) == where


@pytest.mark.parametrize("count", [3], indirect=True)
def test_servers_have_no_gpu(count: int) -> None:
    assert of("auto", Cluster(1, groups=2, servers=1)) == ["cuda:0", "cuda:1", "cpu"]


def test_the_gpus_of_a_job_count_where_there_are_any(count: int) -> None:
    """As SINGA's jobs have them; written for a host with GPUs they run on any."""
    assert requested_places(JobProto(gpu=[1, 0])) == (["cuda:1", "cuda:0"] if count else ["auto"])
    assert requested_places(JobProto(gpu=[1, -1], device="CUDA")) == ["cuda:1", "cpu"]
    assert requested_places(JobProto(gpu=[1], device="CPU")) == ["cpu"]


@pytest.mark.parametrize("text", ["tpu", "cuda:", "cuda:x", "cpu:1", "cpu,", "auto,cpu", ""])
def test_what_is_no_device_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--device: expected devices, got .*; write auto, cpu, cuda or cuda:NUMBER"):
        set_devices(JobProto(), text)


@pytest.mark.parametrize("count", [1, 3], indirect=True)
def test_a_gpu_that_the_host_has_not_is_refused(count: int) -> None:
    with pytest.raises(ConfigError, match=f"--device: expected one of the {count} GPUs of this host, got cuda:3"):
        resolve_devices(["cpu", "cuda:3"])
