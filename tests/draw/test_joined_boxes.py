"""Joined boxes: however layers are grouped, every byte is at one place, and arrows are the ways through helpers."""

from __future__ import annotations

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.draw.graph_picture import make_picture
from netpart.draw.joined_boxes import make_quotient
from netpart.draw.picture import PartBox
from netpart.draw.quotient import BoxGroup, Quotient
from netpart.graph.graph import LAYER, Graph
from netpart.graph.partition import partition_job
from tests.laws.nets import Example, examples
from tests.thorough import example_count


def group_layers(graph: Graph, draw: st.DataObject) -> Quotient:
    """``graph`` with its layers' boxes in random groups."""
    shown = make_picture(graph)
    found: dict[int, list[PartBox]] = {}
    for box in shown.boxes:
        if not box.is_helper:
            found.setdefault(draw.draw(st.integers(0, 5)), []).append(box)
    return make_quotient(shown, [BoxGroup(str(key), tuple(boxes)) for key, boxes in found.items()])


def read_layers(graph: Graph) -> set[tuple[str, str]]:
    """The pairs of layers' parts with a path between them through helpers alone."""
    whole = graph.digraph
    layers = {part.name for part in graph.parts if part.kind == LAYER}
    found = set()
    for name in layers:
        around = {name, *whole} - (layers - {name})
        reached = networkx.descendants(whole.subgraph(around), name) | {name}
        found |= {(name, target) for helper in reached for target in whole.successors(helper) if target in layers}
    return found


@settings(max_examples=example_count(40))
@given(example=examples(), draw=st.data())
def test_no_byte_is_lost_and_none_counts_twice(example: Example, draw: st.DataObject) -> None:
    graph = partition_job(example.job, example.workers, phases=("train",)).graph
    folded = group_layers(graph, draw)
    crossing = [arrow for arrow in folded.picture.arrows if arrow.crosses]
    carried = [*folded.inside, *(arrow.traffic for arrow in folded.arrows)]
    assert sorted(map(id, crossing)) == sorted(id(arrow) for traffic in carried for arrow in traffic.arrows)
    assert sum(folded.sums) == folded.picture.reduced_bytes
    group_of = {box.name: number for number, group in enumerate(folded.groups) for box in group.boxes}
    pairs = {(group_of[source], group_of[target]) for source, target in read_layers(graph)}
    assert {(arrow.source, arrow.target) for arrow in folded.arrows} == {(a, b) for a, b in pairs if a != b}


def test_replicas_share_the_bytes_of_their_sum(naive: Graph) -> None:
    shown = make_picture(naive)
    folded = make_quotient(shown, [BoxGroup(box.name, (box,)) for box in shown.boxes if not box.is_helper])
    shares = {group.name: nbytes for group, nbytes in zip(folded.groups, folded.sums, strict=True)}
    assert shares["tanh1-00"] == shares["tanh1-01"] == 128


def test_an_arrow_names_what_moves_its_bytes(layerp: Graph) -> None:
    shown = make_picture(layerp, itemsize=8)
    layers = dict.fromkeys(box.layer for box in shown.boxes if not box.is_helper)
    groups = [BoxGroup(name, tuple(b for b in shown.boxes if b.layer == name and not b.is_helper)) for name in layers]
    folded = make_quotient(shown, groups)
    lines = {(groups[a.source].name, groups[a.target].name): a.traffic.lines for a in folded.arrows}
    assert lines["pool1", "fc1"] == ("all-to-all", "↓ 42.2 KiB", "↑ 42.2 KiB")
