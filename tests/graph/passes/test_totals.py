"""A total of partial sums stands where it saves bytes, and only there."""

from __future__ import annotations

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.graph.passes.totals import even_placement
from netpart.plan.price.ledger import compute_ledger
from netpart.spec import extent
from tests.graph.jobs import data, job, layer, product
from tests.laws.workers import check_law

COPIES = "cut { over: REPLICA }"
INPUTS = "cut { over: INPUT }"
ITEM = 8
ROWS = 6
WIDTH = 5


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


def copies(count: int) -> str:
    """Replicas on the first ``count`` workers."""
    return f"cut {{ over: REPLICA parts: {count} {' '.join(f'location: {w}' for w in range(count))} }}"


def totals(partition: Partition) -> list[str]:
    net = partition.graph.net
    return [net.nodes[i].name for i in net.totals]


@pytest.mark.parametrize(("workers", "readers"), [(4, 3), (5, 3), (5, 4)])
def test_copies_that_read_addends_of_more_workers_cost_little_more_than_a_ring(workers: int, readers: int) -> None:
    """All add up their share for one of the readers, which gather the shares; the gradient takes the same way back."""
    found = partial(workers, copies(readers))
    assert totals(found) == ["part"]
    elements = [e for e in compute_ledger(found).entries if "part" in e.name]
    assert sum(e.nbytes for e in elements) == ITEM * 2 * (workers - 1 + readers - 1) * ROWS * WIDTH
    check_law(found, workers)


@pytest.mark.parametrize("workers", [2, 3, 4, 5])
def test_addends_that_all_workers_read_are_all_reduced(workers: int) -> None:
    found = partial(workers)
    assert totals(found) == []
    assert found.graph.collectives[0].kind == "all-reduce"
    elements = [e for e in compute_ledger(found).entries if "part" in e.name]
    assert sum(e.nbytes for e in elements) == ITEM * 2 * 2 * (workers - 1) * ROWS * WIDTH
    check_law(found, workers)


@pytest.mark.parametrize(
    ("workers", "reader"),
    [
        (2, COPIES),
        (4, "partition_dim: 0"),
        (4, "partition_dim: 1"),
        (4, "location: 2"),
        (4, copies(2)),
    ],
)
def test_readers_that_need_no_more_than_their_share_are_served_directly(workers: int, reader: str) -> None:
    assert totals(partial(workers, reader)) == []


def test_parameters_still_belong_to_their_layers() -> None:
    net = partial(4, copies(3)).graph.net
    owners = {p.name: net.nodes[p.owner].name for p in net.parameters}
    assert {name.split("/")[0] for name in owners} == {"below", "part", "top"}
    assert all(name.split("/")[0] == owner for name, owner in owners.items())


def test_the_parts_of_a_total_are_as_even_as_can_be() -> None:
    def sizes(shape: tuple[int, ...], workers: int) -> list[tuple[int, ...]]:
        return [extent(s.region) for s in even_placement(shape, range(workers)).shards]

    assert sizes((4, 6), 3) == [(4, 2)] * 3
    assert sizes((6, 4), 3) == [(2, 4)] * 3
    assert sizes((5, 8), 3) == [(5, 2), (5, 3), (5, 3)]
    assert sizes((5, 7), 3) == [(1, 7), (2, 7), (2, 7)]
    assert sizes((1, 2), 3) == [(1, 1), (1, 1)]
    assert [s.worker for s in even_placement((4, 4), (1, 5)).shards] == [1, 5]


@pytest.mark.parametrize("worker", range(4))
def test_a_plan_with_a_total_travels(worker: int) -> None:
    found = partial(4, copies(3))
    travelled, rank = decode_partition(encode_partition(found, worker))
    assert rank == worker
    here = [(p.name, p.node, p.region) for p in found.graph.parts_of_worker(worker)]
    assert [(p.name, p.node, p.region) for p in travelled.graph.parts_of_worker(worker)] == here
    assert [n.name for n in travelled.graph.net.nodes] == [n.name for n in found.graph.net.nodes]


def test_a_total_takes_no_name_that_is_taken() -> None:
    conf = partial(4, copies(3)).job
    for found in conf.neuralnet.layer:
        found.name = found.name.replace("act", "total-part")
        found.srclayers[:] = [name.replace("act", "total-part") for name in found.srclayers]
    net = partition_job(conf, 4).graph.net
    assert [n.name for n in net.nodes] == ["data", "below", "part", "total-part+", "total-part", "top", "loss"]
