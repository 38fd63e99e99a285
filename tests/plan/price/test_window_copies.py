"""Window copies: which copies the helpers of a cut net cause, by memory order and by what crosses workers."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.graph.graph import LAYER, Graph, Part
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.window_copies import WindowCopy, input_copies
from netpart.proto.reader import read_job_text
from tests.graph.jobs import HEAD, data, layer

PLAIN: list[tuple[int, ...]] = [()] * 4
LAST: list[tuple[int, ...]] = [(0, 2, 3, 1)] * 4


def cut(first: int, second: int) -> Graph:
    """Two layers of 8 rows, 4 channels and 6 x 6 pixels on two workers, cut along an axis each."""
    text = HEAD + data(8, "shape: 4 shape: 6 shape: 6", 32, more="")
    text += layer("a", "kReLU", "data", more=f"partition_dim: {first}")
    text += layer("b", "kReLU", "a", more=f"partition_dim: {second}")
    return partition_by_scheme(read_job_text(text + "}").proto, 2).graph


def part(graph: Graph, name: str) -> Part:
    return next(p for p in graph.parts if p.kind == LAYER and graph.net.nodes[p.node].name == name)


def copies(first: int, second: int, orders: Sequence[tuple[int, ...]]) -> list[WindowCopy]:
    graph = cut(first, second)
    return list(input_copies(graph, part(graph, "b"), orders))


def test_parts_that_need_no_other_rows_copy_nothing() -> None:
    assert copies(0, 0, PLAIN) == []


def test_an_exchange_copies_what_is_local_and_packs_what_is_sent() -> None:
    found = copies(0, 1, PLAIN)
    local = [each for each in found if not each.sent]
    packed = [each for each in found if each.sent]
    assert [(each.shape, each.whole, each.dense) for each in local] == [((4, 2, 6, 6), (8, 2, 6, 6), True)]
    assert [(each.shape, each.whole, each.dense) for each in packed] == [((4, 2, 6, 6), (4, 4, 6, 6), False)]


def test_channels_last_is_no_run_of_memory_at_either_end() -> None:
    # The first four rows of all channels of the other worker are one run; in place, its channels lie between others.
    found = copies(1, 0, LAST)
    assert [(each.shape, each.whole, each.dense, each.sent) for each in found] == [
        ((4, 2, 6, 6), (4, 4, 6, 6), False, False),
        ((4, 2, 6, 6), (4, 4, 6, 6), False, True),
    ]
    assert {each.order for each in found} == {LAST[0]}


def test_gradients_of_what_is_one_run_are_written_in_place() -> None:
    for each in copies(0, 1, PLAIN) + copies(1, 0, LAST):
        assert not (each.returned and each.dense)
