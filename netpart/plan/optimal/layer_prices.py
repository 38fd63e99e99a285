"""Layer prices: what each choice of one layer costs by itself: computing, exchanges within it, sums of gradients of its
parameters, updates, and memory."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from netpart.graph.net import Net, Parameter
from netpart.layers.part import Cost
from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.plan.optimal.inner_exchanges import inner_exchanges
from netpart.plan.optimal.layer_memory import layer_memory, recomputable_memory
from netpart.plan.optimal.layer_stages import LayerStage, choice_stages
from netpart.plan.optimal.parameter_prices import ParameterPrice, price_parameters
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.spec import BFLOAT16, Region

NOTHING = ParameterPrice(0.0, 0.0, 0.0, 0.0)
"""The price of parameters that do not learn."""


@dataclass(frozen=True)
class PricedLayer:
    """Prices of the choices of a layer. Seconds [c]: ``forward`` and ``backward`` of the busiest worker and of
    exchanges within the layer; ``sums`` of gradients of parameters, of which ``calls`` keep the busiest worker from
    computing; ``updates``, a mean over the workers; ``repeat``, the forward pass once more if the layer is recomputed.
    ``sent`` [c]: bytes of exchanges and sums. ``memory`` [c, w]: bytes, of which recomputation frees ``freed``."""

    forward: Array
    backward: Array
    sums: Array
    calls: Array
    updates: Array
    sent: Array
    memory: Array
    freed: Array
    repeat: Array

    def ending(self, last: bool) -> Array:
        """[c]: what its sums add to the backward pass: all of them if it is the ``last`` layer of that, else the
        calls."""
        return self.sums if last else self.calls


def price_layer(
    net: Net, arrays: ChoiceArrays, setting: PriceSetting, shared: Container[Parameter] = ()
) -> PricedLayer:
    """The prices of all choices of the layer of ``arrays``, a node of ``net``; without the sums of gradients of
    ``shared`` parameters."""
    pricer = _LayerPricer(net, arrays, setting, shared)
    columns = zip(*(pricer.price_choice(c) for c in range(len(arrays.placements))), strict=True)
    return PricedLayer(*(np.asarray(column) for column in columns))


class _LayerPricer:
    """The pricing of one layer."""

    def __init__(self, net: Net, arrays: ChoiceArrays, setting: PriceSetting, shared: Container[Parameter]) -> None:
        node = arrays.node
        self.net, self.arrays, self.setting = net, arrays, setting
        self.trained = net.trained[node.index]
        self.narrow = net.element(node.index) == BFLOAT16
        self.wanted = [net.carries_gradient(node, k) for k in range(len(node.sources))]
        self.owned = {p.spec.key for p in node.params if p not in shared}
        self.costs: dict[tuple[int, Region, Region | None], tuple[float, float]] = {}
        rate = setting.rates.get(node.name, 1.0)
        self.pace = [rate / device.speed for device in setting.devices.devices]

    def price_choice(self, c: int) -> tuple[float, float, float, float, float, float, Array, Array, float]:
        """Forward, backward, sums, calls of the sums, updates, bytes sent; of each worker its memory and what
        recomputation frees of it; forward once more."""
        stages = list(choice_stages(self.arrays, c, self.narrow))
        forward, backward = self.busiest_seconds(stages)
        inside = inner_exchanges(self.net, self.arrays, c, self.setting.pricer)
        of = price_parameters(stages, self.owned, self.setting) if self.trained else NOTHING
        memory = layer_memory(stages, self.trained, self.arrays.workers, self.setting)
        freed = np.zeros(self.arrays.workers)
        if self.setting.recomputes and self.trained:
            freed = recomputable_memory(stages, self.arrays.workers, self.setting)
        again = forward if self.setting.recompute and self.trained else 0.0
        there, back = forward + inside.forward, backward + again + inside.backward
        return there, back, of.sums, of.calls, of.updates, of.sent + inside.sent, memory, freed, forward

    def busiest_seconds(self, stages: Sequence[LayerStage]) -> tuple[float, float]:
        """Seconds of the worker that computes longest, forward and backward."""
        work = np.zeros((2, self.arrays.workers))
        for stage in stages:
            for shard in stage.placement.shards:
                pair = self.shard_work(stage, shard.region, shard.term)
                work[:, shard.worker] += np.multiply(pair, self.pace[shard.worker])
        forward, backward = work.max(axis=1)
        return forward, backward

    def shard_work(self, stage: LayerStage, region: Region, term: Region | None) -> tuple[float, float]:
        """FLOPs of a shard forward and backward, counting only the gradients that it computes."""
        key = id(stage.layer), region, term
        if key not in self.costs:
            cost = stage.layer.cost(region, term)
            self.costs[key] = float(cost.forward), float(self.backward_work(stage, cost))
        return self.costs[key]

    def backward_work(self, stage: LayerStage, cost: Cost) -> int:
        """FLOPs of the gradients of ``cost`` that training needs."""
        wanted = [*self.wanted, *(True,) * (len(cost.inputs) - len(self.wanted))]
        inputs = sum(flops for flops, want in zip(cost.inputs, wanted, strict=False) if want)
        return (inputs + cost.params) * self.trained
