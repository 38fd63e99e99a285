"""Layer stages: the layers that compute one choice of a layer, as the rewrite expands it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netpart.graph.passes.expand import inner_placement
from netpart.layers.layer import Layer, ParamSpec
from netpart.plan.optimal.choice_arrays import ChoiceArrays
from netpart.spec import BFLOAT16, FLOAT, Placement, Region


@dataclass(frozen=True)
class LayerStage:
    """One of the layers that compute a choice, with its placement: inner layers of expansions, then the layer.
    ``narrow``: its numbers are stored in bfloat16, if they may be rounded."""

    layer: Layer
    placement: Placement
    narrow: bool = False

    def element(self, output: int = 0) -> str:
        """The kind of element as which an output is stored, as ``Net.element`` has it."""
        dtype = self.layer.outputs[output].dtype
        return BFLOAT16 if dtype == FLOAT and self.narrow and self.layer.may_be_rounded else dtype

    def holders(self, i: int, spec: ParamSpec) -> Iterator[tuple[Region, tuple[int, ...], bool]]:
        """The regions of parameter ``i`` that parts need: the workers that hold each, and True if each of these
        computes the whole gradient, as one worker alone or all replicas of one class do."""
        held: dict[Region, dict[int, tuple[Region, Region | None]]] = {}
        for shard in self.placement.shards:
            box = self.layer.needs(shard.region, shard.term).params[i]
            if box is not None:
                held.setdefault(box, {})[shard.worker] = (shard.region, shard.term)
        for box, workers in held.items():
            whole = len(workers) == 1 or (len(set(workers.values())) == 1 and spec.running is None)
            yield box, tuple(sorted(workers)), whole


def choice_stages(arrays: ChoiceArrays, c: int, narrow: bool = False) -> Iterator[LayerStage]:
    """The layers that compute choice ``c``, in the order in which they do; ``narrow`` as in ``LayerStage``."""
    placement = arrays.placements[c]
    for expansion in arrays.expansions[c]:
        yield LayerStage(expansion.inner, inner_placement(placement, expansion), narrow)
    yield LayerStage(arrays.layer_of(c), placement, narrow)
