"""Pass: expands layers whose parts must know each other, so that no layer communicates inside itself.

    x ──────────────────────────────▶ outer        batch norm on rows:  moments ──▶ Sum ──▶ norm
    └──▶ inner ──▶ Sum or Concate ──▶ outer        loss on classes:     blocks  ──▶ Concate ──▶ loss

The inner layer computes on each worker what its part tells of itself; the rule that rewrites every edge then brings the
parts together for the outer layer, which has the name, the parts and the readers of the layer that was written. What
travels in between stands in the graph, is counted, drawn and recognised as a collective like anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from netpart.errors import ConfigError
from netpart.graph.net import Net, Node, Parameter, Source
from netpart.layers.layer import LayerExpansion
from netpart.spec import Placement, Region, Shard, contains


def expand_cut_layers(net: Net, placements: list[Placement]) -> tuple[Net, list[Placement]]:
    """``net`` with every layer expanded that its placement cuts in a way its parts cannot bear alone.

    Raises ConfigError, located, for a cut that its layer cannot take in any way.
    """
    cut = [node.index for node in net.nodes if not _stands_alone(node, placements[node.index])]
    if not cut:
        return net, placements
    found: list[Placement] = []
    for node in net.nodes:
        placement = placements[node.index]
        found += [_inner_placement(placement, _layer_expansion(net, node))] if node.index in cut else []
        found.append(placement)
    return expand_nodes(net, cut), found


def _stands_alone(node: Node, placement: Placement) -> bool:
    """True if the parts of a layer need nothing of each other; adds the layer's place to what it raises."""
    try:
        return node.layer.is_self_sufficient(placement)
    except ConfigError as error:
        error.at = node.at + (error.at or ())
        raise


def expand_nodes(net: Net, cut: Sequence[int]) -> Net:
    """``net`` with two nodes for each whose index is in ``cut``."""
    nodes: list[Node] = []
    index: dict[int, int] = {}
    owned: dict[Parameter, Parameter] = {}
    for node in net.nodes:
        index[node.index] = len(nodes) + (node.index in cut)
        for p in node.params:
            owned.setdefault(p, replace(p, owner=index[p.owner]))
        sources = tuple(Source(index[s.node], s.output) for s in node.sources)
        moved = replace(node, index=len(nodes), sources=sources, params=tuple(owned[p] for p in node.params))
        nodes += _expand_node(moved, net) if node.index in cut else [moved]
    return replace(net, nodes=nodes, totals=(), expanded=tuple(cut))


def _expand_node(node: Node, net: Net) -> list[Node]:
    """The inner and the outer node of one."""
    found = _layer_expansion(net, node)
    by_key = {s.key: p for s, p in zip(node.layer.params, node.params, strict=True)}
    inner, outer = (tuple(by_key[spec.key] for spec in layer.params) for layer in (found.inner, found.outer))
    first = Node(node.index, found.inner, node.sources[: len(found.inner.inputs)], inner, node.at, inserted=True)
    sources = (*node.sources, Source(node.index, 0))
    return [first, Node(node.index + 1, found.outer, sources, outer, node.at)]


def _layer_expansion(net: Net, node: Node) -> LayerExpansion:
    """The two layers of the node of ``net`` that is called as ``node`` is."""
    layer = net.by_name[node.name].layer
    name = f"{layer.inner_prefix}-{node.name}"
    while name in net.by_name:
        name += "+"
    return layer.expansion(name)


def _inner_placement(placement: Placement, expansion: LayerExpansion) -> Placement:
    """Every box of the layer, cut at all bounds of all parts, with the first worker that holds it: done once."""
    axes = zip(*(shard.region for shard in placement.shards), strict=True)
    bounds = [sorted({bound for span in spans for bound in span}) for spans in axes]
    boxes: list[Region] = list(product(*(tuple(pairwise(b)) for b in bounds)))
    shards: dict[Shard, None] = {}
    for box in boxes:
        worker = next(s.worker for s in placement.shards if contains(s.region, box))
        region, term = expansion.share(box)
        if all(lo < hi for lo, hi in region):
            shards[Shard(worker, region, term)] = None
    return Placement(tuple(shards))
