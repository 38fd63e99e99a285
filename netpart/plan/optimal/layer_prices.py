"""Layer prices: what each choice of one layer costs by itself: computing, exchanges within it, sums of gradients of its
parameters, updates, and memory."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from netpart.graph.net import Net, Parameter
from netpart.graph.passes.expand import inner_placement
from netpart.kernels.reference import Kernels
from netpart.layers.layer import Layer, ParamSpec
from netpart.layers.part import Cost
from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.plan.optimal.link_prices import LinkPrices
from netpart.plan.price.devices import Devices
from netpart.program.buffers import item_size
from netpart.spec import FLOAT, Placement, Region, Shape, extent, size

BUCKET = 1 << 20
"""Bytes of gradients that share the fixed cost of one sum: buckets hold about that many."""


@dataclass(frozen=True)
class PricedLayer:
    """Prices of the choices of a layer. Seconds [c]: ``forward`` and ``backward`` of the busiest worker and of
    exchanges within the layer; ``sums`` of gradients of parameters; ``updates``, a mean over the workers. ``sent`` [c]:
    bytes of exchanges and sums. ``memory`` [c, w]: bytes."""

    forward: Array
    backward: Array
    sums: Array
    updates: Array
    sent: Array
    memory: Array


@dataclass(frozen=True)
class PriceSetting:
    """What all prices depend on: devices and links, work per FLOP by layer, bytes of an element, arrays of the
    updater's state, the size in elements from which updates are sharded."""

    devices: Devices
    links: LinkPrices
    rates: Mapping[str, float]
    width: int
    slots: int
    sharded_from: int
    recompute: bool
    kernels: type[Kernels]


def price_layer(
    net: Net, arrays: ChoiceArrays, setting: PriceSetting, shared: Container[Parameter] = ()
) -> PricedLayer:
    """The prices of all choices of the layer of ``arrays``, a node of ``net``; without the sums of gradients of
    ``shared`` parameters."""
    pricer = _LayerPricer(net, arrays, setting, shared)
    columns = zip(*(pricer.price_choice(c) for c in range(len(arrays.choices))), strict=True)
    return PricedLayer(*(np.asarray(column) for column in columns))


@dataclass(frozen=True)
class _Stage:
    """One of the layers that compute a choice, with its placement: inner layers of expansions, then the layer."""

    layer: Layer
    placement: Placement
    inner: bool


def bucket_seconds(links: LinkPrices, workers: tuple[int, ...], nbytes: float) -> float:
    """Seconds of the sum of a gradient, with its share of the fixed cost of a bucket."""
    fixed = links.sum_seconds(workers, 1.0)
    return links.sum_seconds(workers, nbytes) - fixed * (1 - min(1.0, nbytes / BUCKET))


class _LayerPricer:
    """The pricing of one layer."""

    def __init__(self, net: Net, arrays: ChoiceArrays, setting: PriceSetting, shared: Container[Parameter]) -> None:
        node = arrays.node
        self.arrays, self.setting, self.node = arrays, setting, node
        self.trained = net.trained[node.index]
        self.wanted = [net.carries_gradient(node, k) for k in range(len(node.sources))]
        self.owned = {p.spec.key for p in node.params if p not in shared}
        self.costs: dict[tuple[int, Region, Region | None], tuple[float, float]] = {}
        rate = setting.rates.get(node.name, 1.0)
        self.pace = [rate / device.speed for device in setting.devices.devices]

    def price_choice(self, c: int) -> tuple[float, float, float, float, float, Array]:
        """Forward, backward, sums, updates, bytes sent, memory of each worker."""
        stages = list(self.stages(c))
        work = np.zeros((2, self.arrays.workers))
        for stage in stages:
            for shard in stage.placement.shards:
                pair = self.shard_work(stage, shard.region, shard.term)
                work[:, shard.worker] += np.multiply(pair, self.pace[shard.worker])
        inside, returned, crossed = self.exchanges(c, stages)
        sums, updates, summed = self.parameter_sums(stages)
        forward, backward = work.max(axis=1)
        again = forward if self.setting.recompute and self.trained else 0.0
        back = backward + again + returned
        return forward + inside, back, sums, updates, summed + crossed, self.memory(stages)

    def stages(self, c: int) -> Iterator[_Stage]:
        """The layers that compute choice ``c``."""
        placement = self.arrays.placements[c]
        for expansion in self.arrays.expansions[c]:
            yield _Stage(expansion.inner, inner_placement(placement, expansion), True)
        yield _Stage(self.arrays.layer_of(c), placement, False)

    def shard_work(self, stage: _Stage, region: Region, term: Region | None) -> tuple[float, float]:
        """FLOPs of a shard forward and backward, counting only the gradients that it computes."""
        key = id(stage.layer), region, term
        if key not in self.costs:
            cost = stage.layer.cost(region, term)
            self.costs[key] = float(cost.forward), float(self.backward_work(stage, cost))
        return self.costs[key]

    def backward_work(self, stage: _Stage, cost: Cost) -> int:
        """FLOPs of the gradients of ``cost`` that training needs."""
        wanted = [*self.wanted, *(True,) * (len(cost.inputs) - len(self.wanted))]
        inputs = sum(flops for flops, want in zip(cost.inputs, wanted, strict=False) if want)
        return (inputs + cost.params) * self.trained

    def exchanges(self, c: int, stages: list[_Stage]) -> tuple[float, float, float]:
        """Seconds forward and backward, and bytes, of what inner layers send to the parts of the layer."""
        seconds = back = sent = 0.0
        for depth, stage in enumerate(stages[:-1]):
            reader = stages[-1]  # the layer reads the results of all inner ones, after its own sources
            number = len(self.node.sources) + depth
            groups: dict[Region, list[int]] = {}
            for shard in self.arrays.placements[c].shards:
                needs = reader.layer.needs(shard.region, shard.term).inputs
                box = needs[number] if number < len(needs) else None
                if box is not None:
                    groups.setdefault(box, []).append(shard.worker)
            summing = 1.0 if len(stage.placement.terms) > 1 else 0.5
            costs = [
                (self.setting.links.sum_seconds(tuple(sorted(w)), size(box) * self.setting.width), len(w), size(box))
                for box, w in groups.items()
            ]
            returns = bool(self.trained and stage.layer.has_gradient)
            longest = summing * max((each for each, _, _ in costs), default=0.0)
            seconds += longest
            back += longest * returns
            elements = sum(2 * summing * (count - 1) * box for _, count, box in costs)
            sent += elements * self.setting.width * (1 + returns)
        return seconds, back, sent

    def parameter_sums(self, stages: list[_Stage]) -> tuple[float, float, float]:
        """Seconds of the sums of gradients, mean seconds of updates, bytes sent by the sums."""
        seconds = sent = moved = 0.0
        for stage in stages if self.trained else ():
            for i, spec in enumerate(stage.layer.params):
                if spec.key in self.owned and not spec.read_only:
                    for box, workers, whole in _parameter_holders(stage, i, spec):
                        nbytes = size(box) * self.setting.width
                        moved += self.updated_bytes(size(box), len(workers), whole)
                        if not whole:
                            seconds += bucket_seconds(self.setting.links, workers, nbytes)
                            sent += 2 * (len(workers) - 1) * nbytes
        streaming = sum(device.streaming for device in self.setting.devices.devices)
        return seconds, (moved + 6 * sent) / streaming, sent

    def updated_bytes(self, elements: int, holders: int, whole: bool) -> float:
        """Bytes that all holders of a region of a parameter read and write to update it."""
        sharded = not whole and elements >= self.setting.sharded_from
        return elements * self.setting.width * (3 + 2 * self.setting.slots) * (1 if sharded else holders)

    def memory(self, stages: list[_Stage]) -> Array:
        """Bytes of each worker: outputs, their gradients, what backward needs, parameters with gradients and state."""
        found = np.zeros(self.arrays.workers)
        for stage in stages:
            for shard in stage.placement.shards:
                found[shard.worker] += self.activation_bytes(stage, shard.region)
            for i, spec in enumerate(stage.layer.params):
                arrays = 2 + self.setting.slots if self.trained else 1
                for box, workers, _ in _parameter_holders(stage, i, spec):
                    found[list(workers)] += size(box) * self.setting.width * arrays
        return found

    def activation_bytes(self, stage: _Stage, region: Region) -> float:
        """Bytes of the outputs of a shard, of their gradient, and of what its backward pass needs."""
        layer = stage.layer
        held: list[tuple[Shape, Any]] = [
            (extent(box), spec.dtype) for box, spec in zip(layer.outputs_of(region), layer.outputs, strict=True)
        ]
        held += layer.aux(self.setting.kernels, region)
        if self.trained and not layer.is_loss:
            held.append((extent(region), FLOAT))
        return float(sum(prod(shape) * item_size(dtype, self.setting.width) for shape, dtype in held))


def _parameter_holders(stage: _Stage, i: int, spec: ParamSpec) -> Iterator[tuple[Region, tuple[int, ...], bool]]:
    """The regions of parameter ``i`` that parts need: the workers that hold each, and True if each of these computes
    the whole gradient, as one worker alone or all replicas of one class do."""
    held: dict[Region, dict[int, tuple[Region, Region | None]]] = {}
    for shard in stage.placement.shards:
        box = stage.layer.needs(shard.region, shard.term).params[i]
        if box is not None:
            held.setdefault(box, {})[shard.worker] = (shard.region, shard.term)
    for box, workers in held.items():
        whole = len(workers) == 1 or (len(set(workers.values())) == 1 and spec.running is None)
        yield box, tuple(sorted(workers)), whole
