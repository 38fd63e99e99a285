"""Runs with --launcher ray on nodes of a real Ray: the bits of local runs, deaths of nodes and actors, no room."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import monotonic

import pytest

from netpart.cli.exit_codes import HALTED
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.ray_runs import FakeCluster, await_true, check_nothing_is_left, finish, losses, processes
from tests.end2end.running import SOON, mlp
from tests.end2end.test_join import ENDLESS, Talk, check_the_same
from tests.end2end.test_runs import compare, saved
from tests.house.tree import ROOT
from tests.launch.elastic.losses import check_equal
from tests.launch.test_run import CSV
from tests.thorough import sampled

pytestmark = [pytest.mark.peers, pytest.mark.alone]
"""A cluster takes gigabytes of memory and knows the processes of this host by their names: one at a time."""
WORKERS = 3
LONG = 120.0
"""Seconds within which a run on Ray ends, on a machine whose cores are taken by other tests."""
DEAD = 5.0
"""Seconds within which a run ends after a node or an actor has died: the quickest of two, as others want the cores."""
SPREAD = ("--workers", "3", "--place", "strict-spread")
SEAT = "ray::RaySeat"


@pytest.fixture(scope="module")
def nodes() -> Iterator[FakeCluster]:
    with FakeCluster(4, WORKERS) as nodes:
        yield nodes


@pytest.fixture
def cluster(nodes: FakeCluster) -> FakeCluster:
    """The cluster with all its nodes, and no CPU of them in use."""
    nodes.restore(WORKERS)
    await_true(lambda: bool(nodes.ask("free")["cpus"] == 4 * WORKERS), "CPUs stay reserved")
    return nodes


def end(run: Talk, code: int) -> str:
    """The run's last message, after it has ended with ``code``."""
    said = finish(run, code)
    check_nothing_is_left(run)
    return said


def endless(cluster: FakeCluster, folder: Path, step: int) -> Talk:
    """A run that has reached a step."""
    conf = mlp(folder, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0, disp_freq=20)
    run = cluster.run(conf, folder / "run", *SPREAD)
    run.until(rf"^Train @ step {step} ", LONG)
    return run


def test_three_nodes_train_what_one_host_trains(cluster: FakeCluster, tmp_path: Path) -> None:
    """Parameters, states and losses, bit for bit; each worker on a node of its own, with Ray's threads."""
    conf, summary = mlp(tmp_path), tmp_path / "summary.json"
    run = cluster.run(conf, tmp_path / "run", *SPREAD, "--summary", str(summary))
    said = end(run, 0)
    for rank in range(WORKERS):
        assert re.search(rf"worker {rank} joined \(node [\d.]+ \([0-9a-f]{{8}}\), ", said)
    nodes = set(re.findall(r"worker \d joined \(node [\d.]+ \(([0-9a-f]{8})\)", said))
    assert nodes == {node[:8] for node in cluster.nodes}
    assert "1 + 1 + 1 threads" in said
    assert "tensors through ZeroMQ" in said
    check_the_same(conf, WORKERS, tmp_path / "run", summary)
    assert losses(tmp_path / "run") == losses(tmp_path / "local")


def test_ray_sets_the_threads(cluster: FakeCluster, tmp_path: Path) -> None:
    run = cluster.run(mlp(tmp_path), tmp_path / "run", "--workers", "2", "--threads", "2")
    assert "2 + 2 threads" in end(run, 0)


MOMENTS = [(Random(seed).randrange(20, 2000, 20), seed) for seed in range(20)]


@pytest.mark.parametrize(("step", "seed"), sampled(MOMENTS, 10))
def test_a_node_dies(tmp_path: Path, step: int, seed: int, cluster: FakeCluster) -> None:
    """One message names worker, node, process, step and layer, and Ray's reason or the silence."""
    run = endless(cluster, tmp_path, step)
    gone = cluster.ask("remove", node=1 + seed % 2)["node"]
    began = monotonic()
    said = finish(run, 1)
    assert monotonic() - began <= SOON
    (message,) = re.findall(r"^error: .*", said, flags=re.MULTILINE)
    lost = r"(ended or )?stopped, or its link is lost: (not heard for \d+\.\d s|that has closed)"
    why = rf"(died \(Ray ended it: .+\)|{lost})"
    where = rf"node [\d.]+ \({gone[:8]}\), \S+, process \d+"
    assert re.match(rf"error: worker \d \({where}\): {why}, last heard in train step \d+, \S+", message), message
    assert "(raylet)" not in said
    check_nothing_is_left(run)


def test_an_elastic_run_loses_a_node_and_gets_another(cluster: FakeCluster, tmp_path: Path) -> None:
    """It goes on without the node, takes in the seat that Ray starts again, and trains what one worker trains."""
    conf = mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0, disp_freq=20, dtype="FLOAT64")
    run = cluster.run(conf, tmp_path / "run", *SPREAD, "--elastic", "1..3")
    run.until(r"^Train @ step 40 ", LONG)
    cluster.ask("remove", node=1)
    run.until(r"^  going on with step \d+ ", LONG)
    cluster.restore(WORKERS)
    run.until(r"joined; 3 workers from step \d+", LONG)
    run.process.send_signal(signal.SIGUSR1)
    said = end(run, HALTED)
    assert re.search(r"^worker \d \(node .*\) is gone: ", said, flags=re.MULTILINE)
    (last,) = re.findall(r"^Ends @ step (\d+)", said, flags=re.MULTILINE)
    local = [sys.executable, "-m", "netpart", "run", str(conf), "--workers", "1", "--steps", last]
    subprocess.run([*local, "--workspace", str(tmp_path / "local")], check=True, capture_output=True, cwd=ROOT)
    check_equal(tmp_path / "run", tmp_path / "local", int(last))


def test_a_death_is_known_soon(cluster: FakeCluster, tmp_path: Path) -> None:
    """Of a node, and of an actor: from the loss to the end of the command."""

    def seconds(turn: int) -> float:
        (folder := tmp_path / str(turn)).mkdir()
        run = endless(cluster, folder, 100)
        began = monotonic()
        if turn % 2:
            os.kill(processes(SEAT)[0], signal.SIGKILL)
        else:
            cluster.ask("remove", node=1)
        finish(run, 1)
        took = monotonic() - began
        cluster.restore(WORKERS)
        return took

    taken = [seconds(turn) for turn in range(4)]
    assert min(taken[::2]) <= DEAD, taken
    assert min(taken[1::2]) <= DEAD, taken


def test_an_actor_is_killed(cluster: FakeCluster, tmp_path: Path) -> None:
    """SIGKILL of a seat: its worker ends with it, and Ray's reason and the log are in the message."""
    run = endless(cluster, tmp_path, 200)
    os.kill(processes(SEAT)[0], signal.SIGKILL)
    began = monotonic()
    said = end(run, 1)
    assert monotonic() - began <= SOON
    assert re.search(r"error: worker \d \(node .*\): died \(Ray ended it: The actor is dead because its worker", said)
    (log,) = re.findall(r"all of it: (\S+) on node ", said)
    assert "joined tcp://" in Path(log).read_text()


def test_a_worker_is_killed(cluster: FakeCluster, tmp_path: Path) -> None:
    run = endless(cluster, tmp_path, 200)
    found = re.search(r"worker 2 joined .*process (\d+)\)", "".join(run.lines))
    assert found is not None
    os.kill(int(found[1]), signal.SIGKILL)
    said = end(run, 1)
    assert re.search(r"error: worker 2 \(node .*\): died \(signal 9, SIGKILL.*\), last heard in train step", said)
    assert re.search(r"last lines of its log:\njoining tcp://", said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_coordinator_ends(cluster: FakeCluster, tmp_path: Path, number: signal.Signals) -> None:
    run = endless(cluster, tmp_path, 200)
    os.kill(run.process.pid, number)
    said = end(run, -9 if number == signal.SIGKILL else 128 + number)
    assert number == signal.SIGKILL or "interrupted" in said
    assert "***" not in said  # the stack that Ray prints
    await_true(lambda: not processes(SEAT), "actors are left")


def test_a_worker_fails(cluster: FakeCluster, tmp_path: Path) -> None:
    """Row 14 is the third of step 3: the first of worker 1."""
    rows = (f"{7 if i == 14 else i % 3},{i / 10},{i / 5}\n" for i in range(24))
    (tmp_path / "rows.csv").write_text("".join(rows))
    (tmp_path / "job.conf").write_text(CSV)
    said = end(cluster.run(tmp_path / "job.conf", tmp_path / "run", "--workers", "2"), 1)
    assert re.search(
        r"^error: worker 1: train step 3, forward loss\S*: label: expected classes 0 to 2, got 7", said, re.M
    )


def test_a_bundle_that_fits_nowhere(cluster: FakeCluster, tmp_path: Path) -> None:
    run = cluster.run(mlp(tmp_path), tmp_path / "run", "--workers", "2", "--threads", "8", "--wait", "3")
    finish(run, 1)
    wanted = r"^error: --launcher ray: expected room for all workers within 3 s, got none: worker 0 needs 8 CPU, .*"
    assert re.match(wanted + r"which no node has; the cluster has 3 nodes \(node .*: 4 CPU", run.lines[-1])


def test_too_few_nodes(cluster: FakeCluster, tmp_path: Path) -> None:
    run = cluster.run(mlp(tmp_path), tmp_path / "run", "--workers", "4", "--place", "strict-spread", "--wait", "1")
    finish(run, 1)
    assert "4 workers need a node each (--place strict-spread); the cluster has 3 nodes" in run.lines[-1]


def test_a_full_cluster_and_then_room(cluster: FakeCluster, tmp_path: Path) -> None:
    """Another job has all CPUs: the run says so, waits, and trains when they are free."""
    cluster.ask("hold", cpus=4 * WORKERS)
    run = cluster.run(mlp(tmp_path), tmp_path / "run", "--workers", "3")
    line = run.until(r"^note: waiting up to 600 s for room: ", LONG)
    assert "other jobs use what the workers need, 3 CPU" in line
    cluster.ask("hold", cpus=0)
    assert "as predicted" in end(run, 0)


@pytest.mark.parametrize("turn", sampled(range(50), 25))
def test_starts_and_stops_leave_nothing(cluster: FakeCluster, tmp_path: Path, turn: int) -> None:
    end(cluster.run(mlp(tmp_path), tmp_path / "run", "--workers", "2", "--steps", "1"), 0)
    await_true(lambda: not processes(SEAT), "actors are left")
    await_true(lambda: bool(cluster.ask("free")["cpus"] == 4 * WORKERS), "CPUs stay reserved")


KILLING = """
import sys
from pathlib import Path
import ray
from netpart.errors import WorkerFailed
from netpart.launch.report.events import Measured
from netpart.launch.run import run_job
from netpart.launch.teams.ray_cluster import RayCluster
from netpart.proto.reader import read_job

ray.init(log_to_driver=False)
found, start = [], RayCluster.start_actor
RayCluster.start_actor = lambda *given: found.append(start(*given)) or found[-1]

def kill(event):
    if isinstance(event, Measured) and event.step == 200:
        ray.kill(found[1])

try:
    run_job(read_job(Path(sys.argv[1])), 3, launcher="ray", workspace=Path(sys.argv[2]), listener=kill)
except WorkerFailed as error:
    print("failed:", error)
print("still connected:", ray.is_initialized(), ray.available_resources()["CPU"])
"""


def test_ray_kills_an_actor_of_a_program_with_a_connection_of_its_own(cluster: FakeCluster, tmp_path: Path) -> None:
    conf = mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0, disp_freq=20)
    command = [sys.executable, "-c", KILLING, str(conf), str(tmp_path / "run")]
    ended = subprocess.run(
        command, cwd=ROOT, env=cluster.environment, capture_output=True, text=True, timeout=LONG, check=False
    )
    assert re.search(r"^failed: worker 1 \(node .*\): died \(Ray ended it: .*kill", ended.stdout, flags=re.MULTILINE)
    assert "still connected: True" in ended.stdout
    await_true(lambda: not processes(SEAT), "actors are left")


def test_a_cluster_with_tokens(tmp_path: Path) -> None:
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64}
    with FakeCluster(2, 2, token) as cluster:
        run = cluster.run(mlp(tmp_path), tmp_path / "run", "--workers", "2", "--place", "strict-spread")
        assert "as predicted" in end(run, 0)
        cluster.environment["RAY_AUTH_TOKEN"] = "6" * 64
        run = cluster.run(mlp(tmp_path), tmp_path / "other", "--workers", "2")
        finish(run, 1)
        assert run.lines[-1].startswith("error: --launcher ray: expected a Ray cluster, got: ")


@pytest.mark.parametrize("wait", sampled([False, True], 2))
def test_a_run_starts_again_without_a_node(cluster: FakeCluster, tmp_path: Path, wait: bool) -> None:
    """With fewer workers, or with as many once the node is there again; the parameters are those of a local run."""
    conf = mlp(tmp_path, train_steps=1500, dtype="FLOAT64", checkpoint_freq=200, test_freq=0, disp_freq=20)
    options = ("--restarts", "1", *(("--wait", "60") if wait else ()))
    run = cluster.run(conf, tmp_path / "run", *SPREAD, *options)
    run.until(r"^Train @ step 500 ", LONG)
    cluster.ask("remove", node=1)
    run.until(r"worker \d .*(died|stopped)", LONG)
    if wait:
        cluster.restore(WORKERS)
    said = finish(run, 0)
    left = WORKERS if wait else WORKERS - 1
    assert re.search(rf"^Restart 1 of 1 @ step \d+  cut for {left} workers; goes on from ", said, flags=re.MULTILINE)
    run_job(read_job(conf), WORKERS, workspace=tmp_path / "local")
    compare(saved(tmp_path / "run", 1500), saved(tmp_path / "local", 1500), 1e-10)
    await_true(lambda: not processes("--rank "), "workers are left")
