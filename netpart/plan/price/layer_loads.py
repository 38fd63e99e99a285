"""Loads: the profile of a job's training net, in counted FLOPs or in measured seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from netpart.graph.build import type_name
from netpart.graph.graph import LAYER, Graph
from netpart.graph.net import Net, Node
from netpart.plan.price.net_profile import LayerProfile, NetProfile
from netpart.plan.price.part_prices import PartPrices
from netpart.program.buffers import item_size
from netpart.spec import size

Seconds = Mapping[str, tuple[float, float]]
"""By layer, seconds of a mini-batch forward and backward."""


def profile_net(net: Net, itemsize: int) -> NetProfile:
    """The profile of ``net`` without inputs, in FLOPs of a mini-batch; ``itemsize`` is the bytes of an activation."""
    nodes = [node for node in net.nodes if not node.layer.is_input]
    index = {node.index: i for i, node in enumerate(nodes)}
    edges = {(index[s.node], index[n.index]) for n in nodes for s in n.sources if s.node in index}
    return NetProfile(tuple(profile_layer(net, node, itemsize) for node in nodes), tuple(sorted(edges)))


def profile_layer(net: Net, node: Node, itemsize: int) -> LayerProfile:
    """The profile of one uncut layer; only gradients that training needs are counted."""
    cost = node.layer.cost(node.layer.output.whole)
    trained = net.trained[node.index]
    gradients = sum(flops for k, flops in enumerate(cost.inputs) if net.carries_gradient(node, k))
    # A shared parameter counts at its owner only.
    owned = [p.spec.shape for p in dict.fromkeys(node.params) if p.owner == node.index]
    output = node.layer.output
    return LayerProfile(
        node.name,
        type_name(node.conf).removeprefix("k"),
        float(cost.forward),
        float(gradients + (cost.params if trained else 0)),
        size(output.whole) * item_size(net.element(node.index), itemsize),
        sum(map(prod, owned)) * itemsize,
    )


def measured_profile(profile: NetProfile, seconds: Seconds, speed: float) -> NetProfile:
    """``profile`` with measured work, as if done by a device of ``speed``, in place of counted FLOPs."""
    layers = [
        replace(layer, forward=seconds[layer.name][0] * speed, backward=seconds[layer.name][1] * speed)
        for layer in profile.layers
    ]
    return replace(profile, layers=tuple(layers))


def priced_profile(profile: NetProfile, prices: PartPrices, uncut: Graph) -> NetProfile:
    """``profile`` with the work that ``prices`` give the layers of the ``uncut`` net."""
    parts = ((uncut.net.nodes[part.node].name, part) for part in uncut.parts if part.kind == LAYER)
    works = {name: prices.part_work(uncut, part) for name, part in parts}
    layers = [
        replace(each, forward=works[each.name].forward, backward=works[each.name].backward) for each in profile.layers
    ]
    return replace(profile, layers=tuple(layers))


def work_rates(counted: NetProfile, profile: NetProfile) -> dict[str, float]:
    """By layer, its work in ``profile`` for each counted FLOP."""
    pairs = zip(counted.layers, profile.layers, strict=True)
    # Layers without FLOPs have no rate.
    return {before.name: after.work / before.work for before, after in pairs if before.work}
