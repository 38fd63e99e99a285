"""Layer kinds: layers whose choices and prices are the same, and layers that always take the same choice.

Layers of one kind have equal confs, except for names, equal shapes, and equal work to do in training. Layers are tied
if they are of one kind and read the same outputs, or outputs of tied layers: the query, key and value of an attention.
"""

from __future__ import annotations

from collections.abc import Container

from netpart.graph.net import Net, Node, Parameter, Source
from netpart.plan.price.like_layers import unnamed_conf

LayerKind = tuple[object, ...]


def planned_layer_kind(net: Net, node: Node, rate: float, shared: Container[Parameter]) -> LayerKind:
    """A key that is equal for layers of one kind; ``rate`` is the work per counted FLOP, ``shared`` are the parameters
    that several layers use."""
    elements = tuple(net.element(node.index, output) for output in range(len(node.layer.outputs)))
    return (
        type(node.layer), unnamed_conf(node.conf), node.layer.inputs, node.layer.outputs,
        elements,
        net.trained[node.index], tuple(net.carries_gradient(node, k) for k in range(len(node.sources))),
        tuple((p.owner == node.index, p in shared) for p in node.params),
        node.layer.needs(node.layer.output.whole), rate,
    )  # fmt: skip


def tied_layers(net: Net, kinds: list[LayerKind]) -> list[int]:
    """Per node, the first node that always takes the same choice: itself if it is tied to none before it.

    All parts of a kSlice are tied to the first: the language has one cut for them.
    """
    seen: dict[object, int] = {}
    found: list[int] = []
    for node, kind in zip(net.nodes, kinds, strict=True):
        read = tuple(Source(found[s.node], s.output) for s in node.sources)
        # Inputs read nothing, but each reads data of its own.
        key = node.at if node.inserted else (kind, read) if read else node.index
        seen.setdefault(node.at, node.index)
        found.append(seen.setdefault(key, node.index))
    return found
