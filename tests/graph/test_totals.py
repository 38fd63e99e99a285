"""A total of partial sums stands where it saves bytes, and only there."""

from __future__ import annotations

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.passes.totals import even
from netpart.graph.subgraph import decode, encode
from netpart.plan.ledger import ledger
from netpart.spec import extent
from tests.graph.jobs import data, job, layer, product
from tests.laws.workers import check_law

COPIES = "cut { over: REPLICA }"
INPUTS = "cut { over: INPUT }"
ITEM, ROWS, WIDTH = 8, 6, 5


def partial(workers: int, reader: str = COPIES, top: str = "partition_dim: 1", shape: str = "shape: 8") -> Partition:
    """Addends of 6 x 5 elements that a layer placed by ``reader`` reads."""
    sums, sigmoid = product("part", "data", WIDTH, INPUTS), layer("act", "kSigmoid", "part", more=reader)
    tops = product("top", "act", 6, top), layer("loss", "kSoftmaxLoss", "top", "data", more=COPIES)
    return partition_job(
        job(
            data(ROWS, shape, 4, COPIES),
            product("below", "data", 8, COPIES),
            sums.replace('srclayers: "data"', 'srclayers: "below"'),
            sigmoid,
            *tops,
        ),
        workers,
    )


def totals(partition: Partition) -> list[str]:
    net = partition.graph.net
    return [net.nodes[i].name for i in net.totals]


@pytest.mark.parametrize("workers", [3, 4, 5])
def test_copies_that_read_addends_cost_what_a_ring_costs(workers: int) -> None:
    found = partial(workers)
    assert totals(found) == ["part"]
    elements = [e for e in ledger(found).entries if "part" in e.name or "act" in e.name]
    assert sum(e.nbytes for e in elements) == ITEM * 2 * 2 * (workers - 1) * ROWS * WIDTH
    check_law(found, workers)


@pytest.mark.parametrize(
    ("workers", "reader"),
    [
        (2, COPIES),
        (4, "partition_dim: 0"),
        (4, "partition_dim: 1"),
        (4, "location: 2"),
        (4, "cut { over: REPLICA parts: 2 }"),
    ],
)
def test_readers_that_need_no_more_than_their_share_are_served_directly(workers: int, reader: str) -> None:
    assert totals(partial(workers, reader)) == []


def test_copies_that_hold_whole_gradients_send_none_back_directly() -> None:
    """Directly 6 tensors forward and none back; with a total 4 and 2. On 4 workers it is 12 against 6 and 3."""
    assert totals(partial(3, top=COPIES)) == []
    assert totals(partial(4, top=COPIES)) == ["part"]


def test_parameters_still_belong_to_their_layers() -> None:
    net = partial(3).graph.net
    owners = {p.name: net.nodes[p.owner].name for p in net.parameters}
    assert {name.split("/")[0] for name in owners} == {"below", "part", "top"}
    assert all(name.split("/")[0] == owner for name, owner in owners.items())


def test_the_parts_of_a_total_are_as_even_as_can_be() -> None:
    def sizes(shape: tuple[int, ...], workers: int) -> list[tuple[int, ...]]:
        return [extent(s.region) for s in even(shape, range(workers)).shards]

    assert sizes((4, 6), 3) == [(4, 2)] * 3
    assert sizes((6, 4), 3) == [(2, 4)] * 3
    assert sizes((5, 8), 3) == [(5, 2), (5, 3), (5, 3)]
    assert sizes((5, 7), 3) == [(1, 7), (2, 7), (2, 7)]
    assert sizes((1, 2), 3) == [(1, 1), (1, 1)]
    assert [s.worker for s in even((4, 4), (1, 5)).shards] == [1, 5]


@pytest.mark.parametrize("worker", range(3))
def test_a_plan_with_a_total_travels(worker: int) -> None:
    found = partial(3)
    travelled, rank = decode(encode(found, worker))
    assert rank == worker
    here = [(p.name, p.node, p.region) for p in found.graph.of_worker(worker)]
    assert [(p.name, p.node, p.region) for p in travelled.graph.of_worker(worker)] == here
    assert [n.name for n in travelled.graph.net.nodes] == [n.name for n in found.graph.net.nodes]


def test_a_total_takes_no_name_that_is_taken() -> None:
    conf = partial(3).job
    for found in conf.neuralnet.layer:
        found.name = found.name.replace("act", "total-part")
        found.srclayers[:] = [name.replace("act", "total-part") for name in found.srclayers]
    net = partition_job(conf, 3).graph.net
    assert [n.name for n in net.nodes] == ["data", "below", "part", "total-part+", "total-part", "top", "loss"]
