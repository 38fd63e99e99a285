"""RayTeam with a stand-in for its cluster: what is reserved, what seats are asked to start, and how ends are told."""

from __future__ import annotations

import select
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import zmq

from netpart.errors import ConfigError, NetpartError, WorkerFailed
from netpart.launch.control.placement import ClusterPlacement
from netpart.launch.control.seal_choice import SealChoice
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.token import RunToken
from netpart.launch.teams import ray_team
from netpart.launch.teams.exit_status import was_killed
from netpart.launch.teams.team import TeamPlan
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.worker_memory import LinkMemory, forecast_memory
from netpart.proto.control_pb2 import JoinProto
from netpart.proto.reader import read_job
from netpart.resources import installed_version
from tests.end2end.running import mlp

CONTROL = "tcp://10.0.0.1:4000"


class StandIn:
    """Notes what is asked of the cluster. Two nodes; worker 2 shares the first with worker 0."""

    host = "10.0.0.1"
    version = installed_version()
    moved = False

    def __init__(self) -> None:
        self.reserved: list[Any] = []
        self.served: dict[int, tuple[list[str], dict[str, str], int]] = {}
        self.futures: dict[int, Future[Any]] = {}
        self.closed = False

    def reserve(self, bundles: Any, placement: Any, say: Any) -> None:
        self.reserved = [*bundles, placement]

    def bundle_nodes(self) -> list[str]:
        return ["node a", "node b", "node a"]

    def start_actor(self, kind: type, index: int, bundle: Any) -> int:
        return index

    def call_actor(self, actor: int, method: str, *arguments: Any) -> Future[Any]:
        future = Future[Any]()
        if method == "describe_place":
            future.set_result((self.version, "host", f"/log/{actor}"))
        else:
            self.served[actor] = arguments
            self.futures[actor] = future
        return future

    def moves_files(self) -> bool:
        return self.moved

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Iterator[ray_team.RayTeam]:
    monkeypatch.setattr(ray_team, "RayCluster", StandIn)
    job = read_job(mlp(tmp_path))
    cut = partition_by_scheme(job.proto, 3, job.folder)
    plan = TeamPlan(
        3,
        tmp_path,
        zmq.Context.instance(),
        2,
        None,
        None,
        ClusterPlacement("spread", 7),
        cut,
        tmp_path,
        said.append,
        SealChoice("aes-256-gcm"),
    )
    with ray_team.ray_team(plan) as team:
        assert team.control_address() == "tcp://10.0.0.1:*"
        yield team


@pytest.fixture
def cluster(team: ray_team.RayTeam) -> StandIn:
    """The stand-in, with started seats."""
    cluster: Any = team.cluster
    team.start(CONTROL, WorkerSeats(RunToken(b"5" * 16, b"6" * 32), 3))
    return cluster  # type: ignore[no-any-return]


def test_it_reserves_what_check_forecasts(team: ray_team.RayTeam, cluster: StandIn, said: list[str]) -> None:
    assert team.plan.partition is not None
    memory = forecast_memory(team.plan.partition, LinkMemory(slots=False, opens=True))
    assert cluster.reserved == [*({"CPU": 2.0, "memory": n} for n in memory), ClusterPlacement("spread", 7)]
    assert said == [f"the coordinator listens at {CONTROL}; workers 0, 2 on node a; worker 1 on node b"]


def test_a_seat_has_the_token_in_its_environment_alone(cluster: StandIn) -> None:
    options, variables, gpus = cluster.served[2]
    assert options == ["--join", CONTROL, "--rank", "2", "--wait", "7", "--threads", "2"]
    assert variables == {"NETPART_TOKEN": RunToken(b"5" * 16, b"6" * 32).text, "LOCAL_WORLD_SIZE": "2"}
    assert gpus == 0


def test_a_folder_that_ray_moves_is_named_from_its_own(
    team: ray_team.RayTeam, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(StandIn, "moved", True)
    monkeypatch.chdir(tmp_path.parent)
    assert team.worker_options(CONTROL, 0)[-2:] == ["--folder", tmp_path.name]


def test_a_node_with_another_netpart_is_named(team: ray_team.RayTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "version", "0.0.1")
    with pytest.raises(NetpartError, match=r"worker 0 \(node a\): expected netpart .*, got 0\.0\.1; install the same"):
        team.start(CONTROL, WorkerSeats(RunToken(b"5" * 16), 3))


def test_a_seat_that_cannot_start_is_named(team: ray_team.RayTeam) -> None:
    place = Future[Any]()
    place.set_exception(RuntimeError("a\nModuleNotFoundError: No module named 'netpart'"))
    with pytest.raises(WorkerFailed, match=r"got: ModuleNotFoundError: No module named 'netpart'; `ray logs` has more"):
        team.check_seats([place])


def test_an_end_wakes_the_coordinator_and_is_told(team: ray_team.RayTeam, cluster: StandIn) -> None:
    for rank in (1, 2):
        team.admit(JoinProto(rank=rank, host="host, process 7", version=installed_version()))
    assert team.running()
    assert not team.dead()
    assert not select.select(team.descriptors(), [], [], 0)[0]
    cluster.futures[0].set_result(("signal 9", "a\nlog"))
    assert select.select(team.descriptors(), [], [], 0)[0]
    cluster.futures[1].set_exception(RuntimeError("x\nThe actor is dead because its node has died."))
    ends = team.dead()
    assert ends == {
        0: "signal 9, on node a",
        1: "Ray ended it: The actor is dead because its node has died",
    }
    assert all(map(was_killed, ends.values()))
    assert not select.select(team.descriptors(), [], [], 0)[0]
    assert team.log_tail(0) == "a\nlog\nall of it: /log/0 on node a"
    assert team.log_tail(1) == "(its seat could not return them)\nall of it: /log/1 on node b"
    assert team.where(2) == "node a, host, process 7"
    assert team.where(0) == ""


def test_leaving_closes_the_cluster(team: ray_team.RayTeam, cluster: StandIn) -> None:
    team.kill()
    assert cluster.closed
    cluster.futures[0].set_result(("exit code 0", ""))  # Ray's news may come later


def test_a_number_of_a_gpu_is_refused(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path, gpu=1, device="CUDA"))
    cut = partition_by_scheme(job.proto, 1, job.folder)
    with pytest.raises(ConfigError, match=r"--device: expected cuda, cpu or auto with --launcher ray, got cuda:1"):
        ray_team.worker_bundles(cut, 1)
    cut.job.ClearField("gpu")
    assert ray_team.worker_bundles(cut, 1)[0]["GPU"] == 1


def test_a_cluster_that_ends_meanwhile(team: ray_team.RayTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: StandIn) -> list[str]:
        raise RuntimeError("many\nlines\nGCS is gone")

    monkeypatch.setattr(StandIn, "bundle_nodes", fail)
    with pytest.raises(NetpartError, match="--launcher ray: expected the cluster to start workers, got: GCS is gone; "):
        team.start(CONTROL, WorkerSeats(RunToken(b"5" * 16), 3))
