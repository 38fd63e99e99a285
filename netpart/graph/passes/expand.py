"""Pass: expands layers whose parts need results of each other into two layers, so that no layer communicates inside
itself.

    x ──────────────────────────────▶ outer        batch norm on rows:  moments ──▶ Sum ──▶ norm
    └──▶ inner ──▶ Sum or Concate ──▶ outer        loss on classes:     blocks  ──▶ Concate ──▶ loss
                                                   loss by weights:     weights ──▶ Sum ──▶ loss

On each worker the inner layer computes what the other parts need from this one. The rule that rewrites every edge then
joins these results for the outer layer, which has the name, the parts and the readers of the original layer. The outer
layer may be expanded in turn: a loss by weights that is cut on classes becomes three layers. Messages between them are
ordinary edges of the graph: they are counted, drawn and recognised as collectives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise, product

from netpart.box_index import BoxIndex
from netpart.errors import ConfigError
from netpart.graph.net import Net, Node, Parameter, Source
from netpart.layers.layer import Layer, LayerExpansion
from netpart.spec import Placement, Region, Shard


def expand_cut_layers(net: Net, placements: list[Placement]) -> tuple[Net, list[Placement]]:
    """``net`` with every layer expanded whose parts, under its placement, need results of each other; and the
    placements.

    Raises ConfigError, with its place, for a cut that the layer cannot take in any way.
    """
    cut: list[int] = []
    found: list[Placement] = []
    for node in net.nodes:
        placement = placements[node.index]
        expansions = _needed_expansions(net, node, placement)
        cut += [node.index] * len(expansions)
        found += [*(inner_placement(placement, expansion) for expansion in expansions), placement]
    return (expand_nodes(net, cut), found) if cut else (net, placements)


def _needed_expansions(net: Net, node: Node, placement: Placement) -> list[LayerExpansion]:
    """The expansions until the parts of the outer layer need nothing of each other."""
    found: list[LayerExpansion] = []
    layer = node.layer
    while not _stands_alone(node, layer, placement):
        found.append(_layer_expansion(net, layer))
        layer = found[-1].outer
    return found


def _stands_alone(node: Node, layer: Layer, placement: Placement) -> bool:
    """True if the parts of ``layer`` need nothing of each other; adds the place of ``node`` to an error."""
    try:
        return layer.is_self_sufficient(placement)
    except ConfigError as error:
        error.at = node.at + (error.at or ())
        raise


def expand_nodes(net: Net, cut: Iterable[int]) -> Net:
    """``net`` with one more node for each index in ``cut``: an index that is there twice is expanded twice."""
    nodes: list[Node] = []
    index: dict[int, int] = {}
    expanded = tuple(cut)
    times = Counter(expanded)
    owned: dict[Parameter, Parameter] = {}
    for node in net.nodes:
        # Readers of an expanded node read its outer node, which is the last.
        index[node.index] = len(nodes) + times[node.index]
        for p in node.params:
            # One new object for each old one: layers that share a parameter are found by its identity.
            owned.setdefault(p, replace(p, owner=index[p.owner]))
        sources = tuple(Source(index[s.node], s.output) for s in node.sources)
        moved = replace(node, index=len(nodes), sources=sources, params=tuple(owned[p] for p in node.params))
        nodes += _expand_node(moved, net, times[node.index])
    return replace(net, nodes=nodes, totals=(), expanded=expanded)


def _expand_node(node: Node, net: Net, times: int) -> list[Node]:
    """The inner nodes and the outer node for one node that is expanded ``times`` times."""
    if not times:
        return [node]
    found = _layer_expansion(net, node.layer)
    by_key = {s.key: p for s, p in zip(node.layer.params, node.params, strict=True)}
    inner, outer = (tuple(by_key[spec.key] for spec in layer.params) for layer in (found.inner, found.outer))
    read = tuple(node.sources[k] for k in found.sources or range(len(found.inner.inputs)))
    first = Node(node.index, found.inner, read, inner, node.at, inserted=True)
    last = Node(node.index + 1, found.outer, (*node.sources, Source(node.index, 0)), outer, node.at)
    return [first, *_expand_node(last, net, times - 1)]


def _layer_expansion(net: Net, layer: Layer) -> LayerExpansion:
    """The expansion of a layer of ``net``, or of the outer layer of an expansion."""
    name = f"{layer.inner_prefix}-{layer.name}"
    # A job may have a layer with this name.
    while name in net.by_name:
        name += "+"
    return layer.expansion(name)


def inner_placement(placement: Placement, expansion: LayerExpansion) -> Placement:
    """Placement of the inner layer: every box between the bounds of all parts, on the first worker that holds it."""
    axes = zip(*(shard.region for shard in placement.shards), strict=True)
    bounds = [sorted({bound for span in spans for bound in span}) for spans in axes]
    boxes: list[Region] = list(product(*(tuple(pairwise(b)) for b in bounds)))
    shards: dict[Shard, None] = {}
    index = BoxIndex([shard.region for shard in placement.shards])
    for box in boxes:
        # Replicas hold the same box; only the first computes it, so that a Sum counts it once.
        worker = placement.shards[index.find_containing(box)[0]].worker
        region, term = expansion.share(box)
        if all(lo < hi for lo, hi in region):
            shards[Shard(worker, region, term)] = None
    return Placement(tuple(shards))
