"""Layer memory: the bytes that each worker holds for a choice of a layer, if no layer reuses the space of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.layer_stages import LayerStage
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.plan.price.cost import layer_held_bytes
from netpart.program.buffers import item_size
from netpart.spec import BFLOAT16, Region, size


def layer_memory(stages: Sequence[LayerStage], trained: bool, workers: int, setting: PriceSetting) -> Array:
    """Bytes of each worker: outputs, their gradients, what backward needs, parameters with gradients and state."""
    found = np.zeros(workers)
    for stage in stages:
        for shard in stage.placement.shards:
            found[shard.worker] += _activation_bytes(stage, shard.region, trained, setting)
        for i, spec in enumerate(stage.layer.params):
            arrays = 2 + setting.slots if trained else 1
            nbytes = setting.width * arrays + _factor_width(stage, spec.factor, setting)
            for box, holders, _ in stage.holders(i, spec):
                found[list(holders)] += size(box) * nbytes
    return found


def recomputable_memory(stages: Sequence[LayerStage], workers: int, setting: PriceSetting) -> Array:
    """Bytes of each worker that are free between forward and backward if the layer is recomputed."""
    found = np.zeros(workers)
    for stage in stages:
        for shard in stage.placement.shards:
            found[shard.worker] += _activation_bytes(stage, shard.region, False, setting)
    return found


def _activation_bytes(stage: LayerStage, region: Region, gradient: bool, setting: PriceSetting) -> float:
    """Bytes of the outputs of a shard, of what its backward pass needs, and with ``gradient`` of their gradient."""
    elements = [stage.element(output) for output in range(len(stage.layer.outputs))]
    return float(layer_held_bytes(stage.layer, region, elements, gradient, setting.width, setting.kernels))


def _factor_width(stage: LayerStage, factor: bool, setting: PriceSetting) -> int:
    """Bytes of an element of the copies that a layer in bfloat16 reads in place of a ``factor`` of products: one in
    bfloat16, and one in float32 for kernels that have no bfloat16."""
    if not factor or stage.element() != BFLOAT16:
        return 0
    return item_size(BFLOAT16, setting.width) + setting.width * (not stage.layer.takes_bfloat16(setting.kernels))
