"""Schedules: canonical on chains, possible on any graph, bounded as they promise, and the same numbers in any order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.choices import GPIPE, ONE_F_ONE_B
from netpart.graph.partition import Partition, partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Forward
from netpart.program.schedules.schedule import ScheduleSimulation, TimedTurn
from netpart.program.schedules.stages import StageGraph
from netpart.proto.job_pb2 import JobProto, Schedule
from tests.graph.jobs import data, job, layer, product
from tests.laws.nets import Example, examples
from tests.laws.workers import check_law
from tests.thorough import example_count

ORDERS = (ONE_F_ONE_B, GPIPE)
LOSS = layer("loss", "kSoftmaxLoss", "top", "data")


def chain(teams: int, micros: int, order: str = ONE_F_ONE_B) -> JobProto:
    """A chain of equal layers, one on each worker; the labels skip all but the last."""
    products = [product(f"fc{k}", f"fc{k - 1}" if k else "data", 6, f"location: {k}") for k in range(teams)]
    top = product("top", f"fc{teams - 1}", 4, f"location: {teams - 1}")
    loss = layer("loss", "kSoftmaxLoss", "top", "data", more=f"location: {teams - 1}")
    conf = job(data(rows=2 * micros, more="location: 0"), *products, top, loss)
    conf.neuralnet.micro_batches = micros
    conf.neuralnet.schedule = Schedule.Order.Value(order)  # type: ignore[assignment]
    return conf


def rehearsed(cut: Partition, order: str) -> list[TimedTurn]:
    stages = [StageGraph(micro.graph) for micro in cut.phases["train"]]
    return list(ScheduleSimulation(stages, order).play())


def text(played: list[TimedTurn], team: int) -> str:
    turns = [each.turn for each in played if each.turn.stage.team == team]
    return " ".join(f"{'B' if turn.backward else 'F'}{turn.micro}" for turn in turns)


def test_three_stages_alternate_as_published() -> None:
    """PipeDream (SOSP 2019), figure 8, with a flush at the end of the mini-batch."""
    found = rehearsed(partition_job(chain(3, 4), 3), ONE_F_ONE_B)
    assert [text(found, team) for team in range(3)] == [
        "F0 F1 F2 B0 F3 B1 B2 B3",
        "F0 F1 B0 F2 B1 F3 B2 B3",
        "F0 B0 F1 B1 F2 B2 F3 B3",
    ]


def test_gpipe_goes_forward_with_all() -> None:
    found = rehearsed(partition_job(chain(2, 3), 2), GPIPE)
    assert [text(found, team) for team in range(2)] == ["F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("teams", "micros"), [(1, 3), (2, 1), (2, 4), (4, 4), (4, 16), (8, 8)])
def test_the_bubble_is_that_of_the_formula(teams: int, micros: int, order: str) -> None:
    """(K - 1) / (M + K - 1) of the time (GPipe, arXiv:1811.06965, section 2.3)."""
    found = rehearsed(partition_job(chain(teams, micros), teams), order)
    lasts, busy = max(each.end for each in found), sum(each.end - each.start for each in found)
    assert 1 - busy / (teams * lasts) == pytest.approx((teams - 1) / (micros + teams - 1))


@pytest.mark.parametrize(("order", "most"), [(ONE_F_ONE_B, lambda m, k: min(m, k)), (GPIPE, lambda m, k: m)])
@pytest.mark.parametrize(("teams", "micros"), [(2, 5), (3, 2), (4, 8)])
def test_as_many_are_in_flight_as_promised(teams: int, micros: int, order: str, most) -> None:  # type: ignore[no-untyped-def]
    """M with GPipe, min(M, K - k) with 1F1B at stage k, read off the Programs themselves."""
    cut = partition_job(chain(teams, micros, order), teams)
    found = [in_flight(cut, worker) for worker in range(teams)]
    assert found == [most(micros, teams - k) for k in range(teams)]


def in_flight(cut: Partition, worker: int) -> int:
    """The most micro-batches of which a worker has computed some part forward and not yet all of it backward."""
    program = compile_worker(cut, worker).phases["train"]
    last = {i.micro: at for at, i in enumerate(program.instructions) if isinstance(i, Backward)}
    begun, most = set[int](), 0
    for at, instruction in enumerate(program.instructions):
        if isinstance(instruction, Forward):
            begun.add(instruction.micro)
        most = max(most, len(begun))
        begun -= {micro for micro, end in last.items() if end == at}
    return most


def test_fewer_in_flight_take_less_memory() -> None:
    eager, frugal = (
        compile_worker(partition_job(chain(2, 8, order), 2), 1).arena_bytes for order in (GPIPE, ONE_F_ONE_B)
    )
    assert frugal < eager / 2


SHAPES = {
    "skip": [
        data(rows=12, more="location: 0"), product("a", "data", 6, "location: 0"), product("b", "a", 6, "location: 1"),
        layer("sum", "kAdd", "a", "b", more="location: 2"), product("top", "sum", 4, "location: 2"),
        layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
    ],
    "two inputs": [
        data(rows=12, more="location: 0"), product("a", "data", 6, "location: 0"),
        product("b", "data", 6, "location: 1"), layer("sum", "kAdd", "a", "b", more="location: 2"),
        product("top", "sum", 4, "location: 2"),
        layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
    ],
    "one input for all": [
        data(rows=12, more="location: 0"), product("a", "data", 6, "location: 1"),
        product("b", "data", 6, "location: 2"), layer("sum", "kAdd", "b", "a", more="location: 2"),
        product("c", "sum", 6, "location: 1"), product("top", "c", 4, "location: 2"),
        layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
    ],
    "a stage twice": [
        data(rows=12, more="location: 0"), product("a", "data", 6, "location: 0"), product("b", "a", 6, "location: 1"),
        product("c", "b", 6, "location: 0"), product("top", "c", 4, "location: 2"),
        layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
    ],
    "stages of two": [
        data(rows=12, more="location: 0"), product("a", "data", 6, "partition_dim: 0 location: 0 location: 1"),
        product("b", "a", 6, "partition_dim: 1 location: 0 location: 1"), product("top", "b", 4, "location: 2"),
        layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_equals_the_uncut_net(shape: str, order: str) -> None:
    conf = job(*SHAPES[shape])
    conf.neuralnet.micro_batches = 4
    conf.neuralnet.schedule = Schedule.Order.Value(order)  # type: ignore[assignment]
    check_law(partition_job(conf, 3), 7)


def test_a_stage_that_comes_twice_is_kept_busy() -> None:
    """While worker 1 has the first micro-batch, worker 0 begins the second."""
    conf = job(*SHAPES["a stage twice"])
    conf.neuralnet.micro_batches = 4
    assert text(rehearsed(partition_job(conf, 3), ONE_F_ONE_B), 0).startswith("F0 F1 F0")


@given(example=examples(), stages=st.integers(1, 4), replicas=st.integers(1, 2), order=st.integers(0, 2**16))
@settings(max_examples=example_count(60))
def test_pipelines_of_random_nets_are_the_uncut_net(example: Example, stages: int, replicas: int, order: int) -> None:
    conf = JobProto()
    conf.CopyFrom(example.job)
    for each in conf.neuralnet.layer:
        for name in ("partition_dim", "location", "cut", "shard"):
            each.ClearField(name)
    conf.neuralnet.stages, conf.neuralnet.replicas = stages, replicas
    check_law(partition_by_scheme(conf, stages * replicas, scheme="PIPELINE"), order)


def test_every_turn_is_played_once() -> None:
    found = Counter(each.turn for each in rehearsed(partition_job(chain(3, 5), 3), ONE_F_ONE_B))
    assert set(found.values()) == {1}
    assert len(found) == 2 * 5 * 3
