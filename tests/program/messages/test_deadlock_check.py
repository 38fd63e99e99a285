"""What is rehearsed: real plans pass, planted faults are refused by name, and the verdict is that of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import ConfigError, ProgramRefused
from netpart.graph.partition import Partition, partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.program.instructions import Channel, Way
from netpart.program.messages.communication import Communication, Leg, MessageVerb, Phases, list_communications
from netpart.program.messages.deadlock_check import SHOWN, DeadlockCheck, check_deadlocks
from netpart.program.messages.wire_memory import AHEAD
from netpart.proto.reader import read_job
from tests.graph.jobs import data, job, layer, product
from tests.laws.nets import Example, examples
from tests.laws.placements import Placed, placed_jobs
from tests.thorough import example_count, sampled

ROOT = Path(__file__).resolve().parents[3]
ZOO = sorted((ROOT / "graphs").rglob("*.conf"))
Spoken = list[list[Communication]]


def spoken(cut: Partition) -> list[Phases]:
    return [list_communications(compile_worker(cut, worker)) for worker in range(cut.workers)]


def three() -> Spoken:
    """Training of three workers that swap rows for neurons, twice, so that it is no clean all-to-all."""
    turned = "partition_dim: 1 location: 1 location: 2 location: 0"
    layers = [product("below", "data", 6), layer("act", "kSigmoid", "below", more="partition_dim: 1")]
    layers += [layer("turned", "kSigmoid", "below", more=turned), layer("sum", "kAdd", "act", "turned")]
    layers.append(product("top", "sum", 6))
    return [each["train"] for each in spoken(partition_job(job(data(), *layers, LOSS), 3))]


LOSS = layer("loss", "kSoftmaxLoss", "top", "data")


def refused(workers: Spoken) -> str:
    with pytest.raises(ProgramRefused) as caught:
        check_deadlocks([{"train": found} for found in workers])
    return str(caught.value)


def send(name: str, edge: int, peer: int) -> Communication:
    return Communication(MessageVerb.SEND, f"s-{name}", Channel(1, Way.FORWARD, 0, edge), peer, (2, 3), "float32")


def receive(name: str, edge: int, peer: int) -> Communication:
    return Communication(MessageVerb.RECEIVE, f"d-{name}", Channel(1, Way.FORWARD, 0, edge), peer, (2, 3), "float32")


def start(name: str, edge: int, peer: int) -> Communication:
    """One end of an exchange of 5 elements between two workers."""
    name = f"all-reduce {name}"
    return Communication(
        MessageVerb.START, name, Channel(1, Way.REDUCE, 0, edge), -1, (5,), "float32", (Leg(0, peer, 5, 5),)
    )


def wait(name: str, edge: int) -> Communication:
    return Communication(MessageVerb.WAIT, f"all-reduce {name}", Channel(1, Way.REDUCE, 0, edge))


@pytest.mark.parametrize("workers", sampled([4, 1, 2, 7], 4))
@pytest.mark.parametrize("conf", sampled(ZOO, 3), ids=lambda conf: str(conf.stem))
def test_the_zoo_can_be_played(conf: Path, workers: int) -> None:
    found = read_job(conf)
    try:
        cut = partition_by_scheme(found.proto, workers, found.folder)
    except ConfigError:
        pytest.skip("not for so few workers")
    check_deadlocks(spoken(cut))


@given(examples())
@settings(max_examples=example_count(60))
def test_every_job_can_be_played(example: Example) -> None:
    check_deadlocks(spoken(partition_job(example.job, example.workers)))


@given(placed_jobs())
@settings(max_examples=example_count(60))
def test_every_placement_can_be_played(placed: Placed) -> None:
    check_deadlocks(spoken(placed.partition()))


def test_starts_in_different_orders_end_unless_all_must_come_together() -> None:
    first = [start(name, edge, 1) for name, edge in (("a", 1), ("b", 2))]
    waits = [wait("a", 1), wait("b", 2)]
    for order in (first, first[::-1]):
        other = [start(c.name.split()[-1], c.channel.edge, 0) for c in order]
        workers = [{"train": [*first, *waits]}, {"train": [*other, *waits]}]
        check_deadlocks(workers)
        if order is first:
            check_deadlocks(workers, together=True)
    with pytest.raises(ProgramRefused, match=r"worker 0 stands at start all-reduce a .* until worker 1 reaches"):
        check_deadlocks(workers, together=True)


def test_a_missing_receive() -> None:
    workers = three()
    workers[1].remove(
        next(c for c in workers[1] if c.verb == MessageVerb.RECEIVE and c.peer == 0 and "slice-below" in c.name)
    )
    error = refused(workers)
    assert error.startswith("train: the workers' Programs do not fit together; ")
    assert "worker 0: send s-slice-below-00-concate-act-01 of float64 2×2 (forward, micro-batch 0, edge " in error
    assert error.endswith(") to worker 1, but no worker receives it")


def test_a_missing_send() -> None:
    workers = three()
    workers[2].remove(next(c for c in workers[2] if c.verb == MessageVerb.SEND and c.peer == 0))
    assert "worker 0: receive d-" in refused(workers)
    assert refused(workers).endswith("from worker 2, but no worker sends it")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shape": (2, 7)}, "send s-slice-below-00-concate-act-01 of float64 2×7 "),
        ({"dtype": "float32"}, ") to worker 1, which expects float64 2×2"),
        ({"peer": 2}, "to worker 2, but worker 1 receives it, from worker 0"),
    ],
)
def test_ends_that_differ(change: dict[str, object], words: str) -> None:
    workers = three()
    at = next(i for i, c in enumerate(workers[0]) if c.verb == MessageVerb.SEND and c.peer == 1 and c.shape == (2, 2))
    workers[0][at] = workers[0][at]._replace(**change)  # type: ignore[arg-type]
    assert words in refused(workers)


def test_a_channel_that_is_used_twice() -> None:
    workers = [[send("a", 0, 1), send("b", 0, 1)], [receive("a", 0, 0)]]
    assert "worker 0: send s-b of float32 2×3 (forward, micro-batch 0, edge 0), but " in refused(workers)
    assert refused(workers).endswith("something else uses its channel in the same step")


def test_a_message_on_the_channel_of_a_collective() -> None:
    pair = [[start("a", 0, 1), wait("a", 0)], [start("a", 0, 0), wait("a", 0)]]
    pair[0].append(send("b", 0, 1)._replace(channel=Channel(1, Way.REDUCE, 0, 0)))
    pair[1].append(receive("b", 0, 0)._replace(channel=Channel(1, Way.REDUCE, 0, 0)))
    assert "something else uses its channel" in refused(pair)


def test_only_a_few_faults_are_told() -> None:
    error = refused([[send(f"layer{i}", i, 1) for i in range(SHOWN + 3)], []])
    assert error.count("no worker receives it") == SHOWN
    assert error.endswith("\n  and 3 more")


def test_two_workers_that_both_receive_first() -> None:
    """The lists that swap rows for neurons, with all that comes ahead of all that leaves."""
    workers = [
        sorted(found, key=lambda c: c.verb != MessageVerb.RECEIVE or c.channel.way != Way.FORWARD) for found in three()
    ]
    head, one, two, _ = refused(workers).splitlines()
    assert head == "train: 2 workers wait for each other in a ring:"
    assert one.startswith("  worker 0 stands at receive d-")
    assert "d-slice-below-01-concate-act-00 (forward, micro-batch 0, edge " in one
    assert " until worker 1 reaches send s-slice-below-01-concate-act-00" in one
    assert two.startswith("  worker 1 stands at receive d-")
    assert " until worker 0 reaches send s-" in two


def test_three_workers_in_a_ring_are_named_and_a_fourth_that_waits_for_them_is_not() -> None:
    one = [receive("x3", 3, 3), send("x1", 1, 2), send("y", 9, 0)]
    two = [receive("x1", 1, 1), send("x2", 2, 3)]
    three = [receive("x2", 2, 2), send("x3", 3, 1)]
    head, *ring, _ = refused([[receive("y", 9, 1)], one, two, three]).splitlines()
    assert head == "train: 3 workers wait for each other in a ring:"
    assert [line.split(" stands at ")[0].strip() for line in ring] == ["worker 1", "worker 3", "worker 2"]
    assert ring[0] == (
        "  worker 1 stands at receive d-x3 (forward, micro-batch 0, edge 3) until worker 3 reaches send s-x3"
    )


def test_a_worker_that_waits_for_itself() -> None:
    assert "a worker waits for itself:\n  worker 0 stands at receive d-a" in refused(
        [[receive("a", 0, 0), send("a", 0, 0)]]
    )


def test_a_collective_that_a_member_never_joins() -> None:
    workers = three()
    workers[2] = [c for c in workers[2] if c.verb not in (MessageVerb.START, MessageVerb.WAIT)]
    error = refused(workers)
    assert "start all-reduce bucket 0 (d(top/" in error
    assert "elements to worker 2, which expects 0" in error
    assert "which worker 2 never starts" in error


def test_a_collective_of_two_sizes() -> None:
    pair = [[start("sum", 0, 1), wait("sum", 0)], [start("sum", 0, 0), wait("sum", 0)]]
    pair[1][0] = pair[1][0]._replace(shape=(4,), legs=(Leg(0, 0, 4, 4),))
    error = refused(pair)
    assert (
        "worker 1: start all-reduce sum of float32 4 (reduce, micro-batch 0, edge 0), of which worker 0 has float32 5"
        in error
    )
    assert "in message 0 worker 0 sends 5 elements to worker 1, which expects 4" in error


def test_a_collective_that_is_not_awaited_or_awaited_too_early() -> None:
    both = [start("sum", 0, 1), wait("sum", 0)]
    assert "worker 1: start all-reduce sum" in refused([both, [start("sum", 0, 0)]])
    assert "but never waits for it" in refused([both, [start("sum", 0, 0)]])
    assert "but has not started it before" in refused([both, [wait("sum", 0), start("sum", 0, 0)]])


def test_collectives_may_start_and_end_in_any_order() -> None:
    one = [start("a", 0, 1), start("b", 1, 1), wait("a", 0), wait("b", 1)]
    other = [start("b", 1, 0), start("a", 0, 0), wait("b", 1), wait("a", 0)]
    check_deadlocks([{"train": one}, {"train": other}])


def test_waits_that_cross() -> None:
    one = [start("a", 0, 1), wait("a", 0), start("b", 1, 1), wait("b", 1)]
    other = [start("b", 1, 0), wait("b", 1), start("a", 0, 0), wait("a", 0)]
    assert refused([one, other]).splitlines()[1:3] == [
        "  worker 0 stands at wait for all-reduce a (reduce, micro-batch 0, edge 0) until worker 1 reaches "
        "start all-reduce a",
        "  worker 1 stands at wait for all-reduce b (reduce, micro-batch 0, edge 1) until worker 0 reaches "
        "start all-reduce b",
    ]


def test_no_sender_is_further_ahead_than_a_queue_is_long() -> None:
    rehearsal = DeadlockCheck([[send("a", 0, 1)], [receive("a", 0, 0)]], steps=9)
    rehearsal.advance(0)
    assert rehearsal.step == [AHEAD, 0]
    assert rehearsal.advance(1) == [0]
    assert rehearsal.step == [AHEAD, AHEAD]
    rehearsal.advance(0)
    assert rehearsal.step == [2 * AHEAD, AHEAD]


@st.composite
def plans(draw: st.DrawFn) -> Spoken:
    """Messages and exchanges in one global order, which some workers do not keep."""
    n = draw(st.integers(2, 4))
    workers: Spoken = [[] for _ in range(n)]
    for edge in range(draw(st.integers(1, 8))):
        a, b = draw(st.permutations(range(n)))[:2]
        if draw(st.integers(0, 2)):
            workers[a].append(send(f"x{edge}", edge, b))
            workers[b].append(receive(f"x{edge}", edge, a))
        else:
            workers[a] += [start(f"x{edge}", edge, b), wait(f"x{edge}", edge)]
            workers[b] += [start(f"x{edge}", edge, a), wait(f"x{edge}", edge)]
    for found in workers[: draw(st.integers(0, n))]:
        before = {c.channel: c for c in found if c.verb == MessageVerb.START}
        order = draw(st.permutations(found))
        found[:] = dict.fromkeys(each for c in order for each in (before.get(c.channel, c), c))
    return workers


@given(plans())
@settings(max_examples=example_count(300))
def test_the_verdict_is_whether_the_graph_of_all_dependencies_has_a_cycle(workers: Spoken) -> None:
    graph = nx.DiGraph(dependencies(workers))
    if nx.is_directed_acyclic_graph(graph):
        check_deadlocks([{"train": found} for found in workers])
    else:
        assert "wait for each other in a ring" in refused(workers)


def dependencies(workers: Spoken) -> Iterator[tuple[object, object]]:
    """What must be done before what, as (worker, verb, channel)."""
    for w, found in enumerate(workers):
        items = [(w, c.verb, c.channel) for c in found]
        yield from pairwise(items)
        for c in found:
            after = {MessageVerb.SEND: MessageVerb.RECEIVE, MessageVerb.START: MessageVerb.WAIT}.get(c.verb)
            for other, theirs in enumerate(workers):
                yield from (
                    ((w, c.verb, c.channel), (other, after, c.channel))
                    for each in theirs
                    if (each.verb, each.channel) == (after, c.channel)
                )
