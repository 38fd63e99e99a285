"""The checker of graphs sees what it looks for: a sound graph passes, every broken one is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netpart.graph.graph import BRIDGE_DST, CONCATE, LAYER, SUM, Graph, Part, PartInput
from netpart.graph.invariants import check_graph, check_parameters, check_uncut
from netpart.graph.net import Parameter
from netpart.graph.partition import partition_job
from netpart.spec import Region, whole_region
from tests.graph.jobs import data, job, layer, product


def graph() -> Graph:
    """One with every kind of helper."""
    middle = product("middle", "below", 4, "cut { over: INPUT parts: 2 }")
    below = product("below", "data", 4, "partition_dim: 1")
    top, loss = product("top", "middle", 4, "location: 1"), layer("loss", "kSoftmaxLoss", "top", "data")
    both = layer("both", "kSplit", "below", more="location: 0"), layer("last", "kEuclideanLoss", "both", "both")
    return partition_job(job(data(), below, middle, top, loss, *both), 2).graph


def first(graph: Graph, kind: str) -> Part:
    return next(part for part in graph.parts if part.kind == kind and part.feeds)


Holdings = list[list[tuple[Parameter, Region]]]
Cells = list[tuple[tuple[int, ...], Parameter, Region]]


def rename(g: Graph) -> None:
    g.parts[1].name = g.parts[0].name


def reorder(g: Graph) -> None:
    g.parts.reverse()
    for index, part in enumerate(g.parts):
        part.index = index


def misplace(g: Graph) -> None:
    first(g, LAYER).worker = 1 - first(g, LAYER).worker


def send_less(g: Graph) -> None:
    part = first(g, BRIDGE_DST)
    part.region = ((0, 1), *part.region[1:])


def overlap(g: Graph) -> None:
    feeds = first(g, CONCATE).feeds
    feeds[0] = feeds[1]


def starve(g: Graph) -> None:
    first(g, LAYER).feeds.pop()


def forget_a_term(g: Graph) -> None:
    part = first(g, SUM)
    feed = part.feeds[0]
    box = ((feed.region[0][0], feed.region[0][0] + 1), *feed.region[1:])
    part.feeds[0] = PartInput(feed.part, box, feed.k, feed.output, feed.gradient)


def read_beyond(g: Graph) -> None:
    feed = first(g, LAYER).feeds[0]
    feed.region = ((0, 99), *feed.region[1:])


def lose_a_gradient(g: Graph) -> None:
    part = next(p for p in g.parts if p.kind == BRIDGE_DST and p.live)
    part.feeds[0].gradient = False


BREAKS: tuple[Callable[[Graph], None], ...] = (
    rename, reorder, misplace, send_less, overlap, starve, forget_a_term, read_beyond, lose_a_gradient,
)  # fmt: skip


def test_a_sound_graph_passes() -> None:
    check_graph(graph())


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda f: f.__name__)
def test_a_broken_graph_is_refused(break_it: Callable[[Graph], None]) -> None:
    broken = graph()
    break_it(broken)
    with pytest.raises(AssertionError, match="expected"):
        check_graph(broken)


def test_one_worker_changes_nothing() -> None:
    conf = job(data(), product("top", "data", 4), layer("twice", "kAdd", "top", "top"), layer("side", "kReLU", "top"))
    check_uncut(partition_job(conf, 1).graph)
    with pytest.raises(AssertionError, match="nothing else"):
        check_uncut(graph())


def test_parameters_must_be_held_and_summed_by_all_who_hold_them() -> None:
    (weight, *_) = graph().net.parameters
    all_of_it = whole_region((4, 4))
    left = ((0, 2), (0, 4))
    right = ((2, 4), (0, 4))
    check_parameters([weight], [[(weight, left)], [(weight, right)]], [])
    check_parameters([weight], [[(weight, all_of_it)], [(weight, right)]], [((0, 1), weight, right)])
    broken: list[tuple[Holdings, Cells]] = [
        ([[(weight, left)], []], []),
        ([[(weight, all_of_it), (weight, left)]], []),
        ([[(weight, all_of_it)], [(weight, right)]], [((0,), weight, right)]),
        ([[(weight, all_of_it)], [(weight, all_of_it)]], [((0, 1), weight, left), ((0, 1), weight, all_of_it)]),
    ]
    for holdings, cells in broken:
        with pytest.raises(AssertionError, match="expected"):
            check_parameters([weight], holdings, cells)
