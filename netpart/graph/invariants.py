"""Invariants that hold for every partitioned net, whatever was cut (docs/regions.md, "Invariants worth asserting").

The tests check them for every graph they make; ``python -X dev`` checks every graph that the rewrite returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netpart.box_index import are_boxes_disjoint
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, LAYER, SLICE, SUM, Graph, Part
from netpart.graph.holdings import ParameterCell
from netpart.graph.net import Parameter
from netpart.layers.slice import Slice
from netpart.spec import RECORD, Region, contains, intersect, remaining_boxes, size, whole_region


def check_graph(graph: Graph) -> None:
    """Raise AssertionError, naming the part, if ``graph`` breaks an invariant."""
    names = [part.name for part in graph.parts]
    _expect(len(set(names)) == len(names), str(graph), "unique names")
    for index, part in enumerate(graph.parts):
        _expect(part.index == index, part.name, f"place {index} in the order")
        for feed in part.feeds:
            _expect(feed.part.index < index, part.name, f"to follow {feed.part.name}")
            held = graph.held_region(feed.part, feed.output)
            _expect(contains(held, feed.region), part.name, f"to read {feed.region} within {held} of {feed.part.name}")
            _expect(
                not feed.gradient or (part.live and feed.part.live), part.name, "a gradient edge with two live ends"
            )
            crosses = feed.part.worker != part.worker
            _expect(crosses == (part.kind == BRIDGE_DST), part.name, "to cross workers as a bridge, and only then")
        KINDS.get(part.kind, _check_forwarding)(graph, part)


def _expect(holds: bool, who: str, what: str) -> None:
    """Raise AssertionError unless ``holds``. Not a ConfigError: a broken invariant is a defect of netpart, not of a
    job."""
    if not holds:
        raise AssertionError(f"{who}: expected {what}")


def _check_layer_inputs(graph: Graph, part: Part) -> None:
    """Check that a layer gets for every input exactly the region that it needs, once."""
    node = graph.net.nodes[part.node]
    needs = node.layer.needs(part.region, part.term).inputs
    wanted = {k: need for k, need in enumerate(needs) if need is not None and all(lo < hi for lo, hi in need)}
    _expect({f.k: f.region for f in part.feeds} == wanted, part.name, f"to be fed {wanted}")
    _expect(len(part.feeds) == len(wanted), part.name, "one feed for each input")


def _check_bridge(graph: Graph, part: Part) -> None:
    """Check that the receiving half of a bridge holds the region that the sending half sends."""
    source = part.feeds[0].part
    _expect(len(part.feeds) == 1 and source.kind == BRIDGE_SRC and source.peer is part, part.name, "a sending half")
    _expect(part.peer is source and source.region == part.region == part.feeds[0].region, part.name, "what was sent")
    _expect(part.live == part.feeds[0].gradient == source.live, part.name, "one gradient back if it is live, else none")


def _check_concate(graph: Graph, part: Part) -> None:
    """Check that the boxes of a Concate tile its region in order of position."""
    boxes = [feed.region for feed in part.feeds]
    _expect(boxes == sorted(boxes), part.name, "boxes in order of position")
    _expect(_boxes_tile(boxes, part.region), part.name, f"boxes that tile {part.region}")


def _check_sum(graph: Graph, part: Part) -> None:
    """Check that the boxes of a Sum tile its region once per term, one term after another."""
    boxes = [feed.region for feed in part.feeds]
    while boxes:
        # Terms are not marked in ``feeds``. The boxes of one term are the shortest run whose sizes add up to the
        # region.
        ends = [n for n in range(1, len(boxes) + 1) if sum(map(size, boxes[:n])) == size(part.region)]
        _expect(bool(ends) and _boxes_tile(boxes[: ends[0]], part.region), part.name, f"terms that tile {part.region}")
        boxes = boxes[ends[0] :]


def _check_forwarding(graph: Graph, part: Part) -> None:
    """Check that a Slice, a Split or a sending half holds a box of its one source."""
    _expect(len(part.feeds) == 1 and part.feeds[0].region == part.region, part.name, "one source of all it holds")


KINDS: dict[str, Callable[[Graph, Part], None]] = {
    LAYER: _check_layer_inputs, BRIDGE_DST: _check_bridge, CONCATE: _check_concate, SUM: _check_sum,
}  # fmt: skip
"""The check for each kind of part; other kinds use ``_check_forwarding``."""


def check_uncut(graph: Graph) -> None:
    """Raise AssertionError unless ``graph`` equals its net part for part, as one worker runs it.

    The inputs of a kSlice are exempt: the rewrite cuts them out with a Slice.
    """
    names = [node.name for node in graph.net.nodes]
    parts = [part for part in graph.parts if part.kind != SLICE]
    _expect([part.name for part in parts] == names, str(graph), "the layers of the net and nothing else")
    for part, node in zip(parts, graph.net.nodes, strict=True):
        fed = [(feed.part.node, feed.part.output if feed.part.kind == SLICE else feed.output) for feed in part.feeds]
        _expect(fed == [(s.node, s.output) for s in node.sources], part.name, "the sources of its layer")
        if isinstance(node.layer, Slice):
            continue
        _expect(all(feed.part.kind != SLICE for feed in part.feeds), part.name, "its sources whole")
        needs = node.layer.needs(node.layer.output.whole).inputs
        specs = [None if s.dtype == RECORD else s.whole for s in node.layer.inputs]
        _expect(all(s is None or s == n for s, n in zip(specs, needs, strict=True)), part.name, "to need the whole")


def check_parameters(
    parameters: Sequence[Parameter],
    holdings: Sequence[Sequence[tuple[Parameter, Region]]],
    cells: Sequence[tuple[tuple[int, ...], Parameter, Region]],
) -> None:
    """Raise AssertionError unless parameters are held and summed consistently.

    Every element of every parameter must be held, by no worker twice. Every cell that is summed over some workers must
    be held by exactly these workers, and be summed once.
    """
    for parameter in parameters:
        name = parameter.name
        all_of_it = whole_region(parameter.spec.shape)
        held = [[box for p, box in of_worker if p.name == name] for of_worker in holdings]
        _expect(not remaining_boxes(all_of_it, [b for boxes in held for b in boxes]), name, "to be held, all of it")
        _expect(all(are_boxes_disjoint(boxes) for boxes in held), name, "no element twice on a worker")
        summed = [(workers, box) for workers, p, box in cells if p.name == name]
        _expect(are_boxes_disjoint([box for _, box in summed]), name, "cells that are summed once")
        for workers, cell in summed:
            holders = tuple(w for w, boxes in enumerate(held) if any(intersect(b, cell) is not None for b in boxes))
            _expect(holders == workers, name, f"the sum of {cell} over its holders {holders}")


def check_norm(
    parameters: Sequence[Parameter],
    holdings: Sequence[Sequence[tuple[Parameter, Region]]],
    counted: Sequence[Sequence[ParameterCell]],
) -> None:
    """Raise AssertionError unless every trained element of ``parameters`` is counted once, where it is held."""
    for parameter in (p for p in parameters if p.spec.running is None):
        mine = [[c.box for c in cells if c.parameter.name == parameter.name] for cells in counted]
        boxes = [box for of_worker in mine for box in of_worker]
        _expect(_boxes_tile(boxes, whole_region(parameter.spec.shape)), parameter.name, "every element counted once")
        for held, of_worker in zip(holdings, mine, strict=True):
            own = [box for p, box in held if p.name == parameter.name]
            _expect(
                all(any(contains(b, box) for b in own) for box in of_worker), parameter.name, "to be counted where held"
            )


def _boxes_tile(boxes: Sequence[Region], region: Region) -> bool:
    """True if the boxes cover ``region``, each element once."""
    inside = all(contains(region, box) for box in boxes)
    # Equal sizes alone would also accept an overlap that makes up for a gap.
    return inside and sum(map(size, boxes)) == size(region) and are_boxes_disjoint(boxes)
