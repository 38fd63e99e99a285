"""Which bridges are a collective, which stay single, and that a collective is carried out by every algorithm alike."""

from __future__ import annotations

import pytest

from netpart.choices import ALGORITHMS
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, SUM, Graph
from netpart.graph.partition import Partition, partition_job
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.program.compile import compile_worker
from netpart.program.instructions import CollectiveStart, Receive, Send
from netpart.proto.job_pb2 import Collectives
from tests.graph.jobs import data, job, layer, product
from tests.laws.test_workers import check_bytes
from tests.laws.workers import check_law

COPIES = "cut { over: REPLICA }"
INPUTS = "cut { over: INPUT }"
NEURONS = "partition_dim: 1"
BATCH = "partition_dim: 0"
HERE = "location: 0 partition_dim: -1"


def net(source: str, reader: str, workers: int = 3, top: str = BATCH) -> Partition:
    """A product placed by ``source``, a sigmoid that reads it placed by ``reader``."""
    layers = [product("below", "data", 5, BATCH), product("part", "below", 7, source)]
    layers += [layer("act", "kSigmoid", "part", more=reader), product("top", "act", 6, top)]
    return partition_job(job(data(7), *layers, layer("loss", "kSoftmaxLoss", "top", "data")), workers)


def of(graph: Graph, name: str = "part") -> list[tuple[str, tuple[int, ...], bool]]:
    return [(c.kind, c.members, c.backward) for c in graph.collectives if c.name == name]


EVERYONE = (0, 1, 2)
PATTERNS = [
    (NEURONS, COPIES, "all-gather", EVERYONE),
    (BATCH, COPIES, "all-gather", EVERYONE),
    (NEURONS, BATCH, "all-to-all", EVERYONE),
    (INPUTS, COPIES, "all-reduce", EVERYONE),
    (INPUTS, BATCH, "reduce-scatter", EVERYONE),
    (INPUTS, NEURONS, "reduce-scatter", EVERYONE),
    (INPUTS, "location: 2 partition_dim: -1", "reduce", (2, 0, 1)),
    ("location: 1 partition_dim: -1", COPIES, "broadcast", (1, 0, 2)),
]


@pytest.mark.parametrize(("source", "reader", "kind", "members"), PATTERNS)
def test_patterns(source: str, reader: str, kind: str, members: tuple[int, ...]) -> None:
    graph = net(source, reader).graph
    assert of(graph) == [(kind, members, True)]
    (found,) = [c for c in graph.collectives if c.name == "part"]
    pieces = [p for p in graph.parts if p.collective is found]
    assert {p.kind for p in pieces} <= {BRIDGE_SRC, BRIDGE_DST, SUM}
    assert (min(p.index for p in pieces), max(p.index for p in pieces)) == (found.first, found.last)


@pytest.mark.parametrize(
    ("source", "reader"),
    [
        (NEURONS, HERE),  # a gather to one place
        (HERE, BATCH),  # a scatter from one place
        (BATCH, "partition_dim: 0 location: 1 location: 2"),  # some of it to some
        (INPUTS, "partition_dim: 1 location: 0 location: 1 location: 3"),  # with a reader that adds nothing
    ],
)
def test_what_is_no_clean_pattern_stays_single_bridges(source: str, reader: str) -> None:
    workers = 4 if "location: 3" in reader else 3
    source = source.replace(INPUTS, "cut { over: INPUT parts: 3 location: 0 location: 1 location: 2 }")
    assert of(net(source, reader, workers).graph) == []


def test_groups_of_workers_that_do_not_meet_are_collectives_of_their_own() -> None:
    """Rows in two halves, each on two workers that share its neurons."""
    both = "cut { axis: 0 parts: 2 } cut { axis: 1 parts: 2 }"
    rows = "cut { axis: 0 parts: 2 } cut { over: REPLICA parts: 2 }"
    assert of(net(both, rows, 4, both).graph) == [("all-gather", (0, 1), True), ("all-gather", (2, 3), True)]


def test_a_halo_is_none() -> None:
    conv = "convolution_conf { num_filters: 2 kernel: 3 pad: 1 } param { init { } } param { init { } }"
    layers = [data(4, "shape: 1 shape: 9 shape: 9", 2, "")]
    layers += [layer("a", "kConvolution", "data", more=f"partition_dim: 2 {conv}")]
    layers += [layer("b", "kConvolution", "a", more=f"partition_dim: 2 {conv}"), product("top", "b", 2)]
    found = partition_job(job(*layers, layer("loss", "kSoftmaxLoss", "top", "data")), 2)
    assert of(found.graph, "a") == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("source", "reader", "workers"),
    [(s, r, n) for s, r, _, _ in PATTERNS for n in (2, 3, 5) if n > 2 or "location: 2" not in r],
)
def test_every_algorithm_computes_what_the_uncut_net_computes(
    algorithm: str, source: str, reader: str, workers: int
) -> None:
    cut = net(source, reader, workers)
    cut.job.collectives = Collectives.Algorithm.Value(algorithm.upper())  # type: ignore[assignment]
    check_bytes(check_law(cut, workers))


@pytest.mark.parametrize(("source", "reader"), [pattern[:2] for pattern in PATTERNS])
def test_without_its_marks_a_graph_computes_the_same_bridge_by_bridge(source: str, reader: str) -> None:
    cut = net(source, reader)
    for part in cut.graph.parts:
        part.collective = None
    cut.graph.collectives.clear()
    instructions = compile_worker(cut, 0).phases["train"].instructions
    assert any(isinstance(i, Send | Receive) and "part" in i.name for i in instructions)
    check_bytes(check_law(cut, 1))


@pytest.mark.parametrize(("source", "reader", "kind", "members"), PATTERNS)
def test_a_collective_is_carried_out_as_one(source: str, reader: str, kind: str, members: tuple[int, ...]) -> None:
    cut = net(source, reader)
    found = next(c for c in cut.graph.collectives if c.name == "part")
    pieces = {p.name for p in cut.graph.parts if p.collective is found}
    for worker in members:
        instructions = compile_worker(cut, worker).phases["train"].instructions
        starts = [i for i in instructions if isinstance(i, CollectiveStart) and i.channel.edge == found.first]
        bridges = [i for i in instructions if isinstance(i, Send | Receive) and i.name in pieces]
        assert (len(starts), bridges) == (2, [])


def test_collectives_travel_with_the_plan() -> None:
    cut = net(NEURONS, COPIES)
    travelled, worker = decode_partition(encode_partition(cut, 1))
    found, sent = travelled.graph.collectives[0], cut.graph.collectives[0]
    assert repr(found) == repr(sent)
    same = ("kind", "members", "blocks", "region", "backward", "first", "last", "dtype")
    assert all(getattr(found, name) == getattr(sent, name) for name in same)
    for phase, program in compile_worker(travelled, worker).phases.items():
        assert program.instructions == compile_worker(cut, worker).phases[phase].instructions
