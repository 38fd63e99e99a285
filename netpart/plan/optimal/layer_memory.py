"""Layer memory: the bytes that each worker holds for a choice of a layer, if no layer reuses the space of another."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.layer_stages import LayerStage
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.program.buffers import item_size
from netpart.spec import FLOAT, Region, Shape, extent, size


def layer_memory(stages: Sequence[LayerStage], trained: bool, workers: int, setting: PriceSetting) -> Array:
    """Bytes of each worker: outputs, their gradients, what backward needs, parameters with gradients and state."""
    found = np.zeros(workers)
    for stage in stages:
        for shard in stage.placement.shards:
            found[shard.worker] += _activation_bytes(stage, shard.region, trained, setting)
        for i, spec in enumerate(stage.layer.params):
            arrays = 2 + setting.slots if trained else 1
            for box, holders, _ in stage.holders(i, spec):
                found[list(holders)] += size(box) * setting.width * arrays
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
    layer = stage.layer
    held: list[tuple[Shape, Any]] = [
        (extent(box), spec.dtype) for box, spec in zip(layer.outputs_of(region), layer.outputs, strict=True)
    ]
    held += layer.aux(setting.kernels, region)
    if gradient and not layer.is_loss:
        held.append((extent(region), FLOAT))
    return float(sum(prod(shape) * item_size(dtype, setting.width) for shape, dtype in held))
