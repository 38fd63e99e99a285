"""Shared sums: what it costs to sum the gradients of a parameter that two layers share, for all choices of both.

A worker that holds the parameter for one layer only still takes part in the sums of the other's gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from netpart.graph.net import Net, Parameter
from netpart.graph.passes.cells import disjoint_cells, disjoint_hulls
from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.spec import Region, contains, size

PartUse = tuple[int, Region, int]
"""(worker, the region of the parameter that its part needs, class of replicas of the part)."""
LayerUses = tuple[PartUse, ...]


@dataclass(frozen=True)
class SummedCell:
    """A region of a parameter whose gradient ``workers`` sum; of one worker, or of equal results, nothing is summed."""

    workers: tuple[int, ...]
    elements: int


def shared_parameters(net: Net) -> dict[Parameter, list[int]]:
    """The trained parameters that several layers share, each with its layers in net order."""
    users: dict[Parameter, list[int]] = {}
    for node in net.nodes:
        for parameter in dict.fromkeys(node.params):
            users.setdefault(parameter, []).append(node.index)
    return {parameter: nodes for parameter, nodes in users.items() if len(nodes) > 1}


def parameter_uses(arrays: ChoiceArrays, slot: int) -> list[LayerUses]:
    """[c]: how the parts of each choice use parameter ``slot`` of the layer."""
    found = []
    for c, row in enumerate(arrays.shards):
        layer, uses = arrays.layer_of(c), []
        for worker, shard in enumerate(row):
            box = layer.needs(shard.region, shard.term).params[slot] if shard else None
            if box is not None:
                uses.append((worker, box, int(arrays.classes[c, worker])))
        found.append(tuple(uses))
    return found


def joint_table(
    first: list[LayerUses], second: list[LayerUses], price: Callable[[list[SummedCell]], tuple[float, float]]
) -> Array:
    """[c, d, figure]: ``price`` of the cells that are summed, for each two choices."""
    known: dict[tuple[LayerUses, LayerUses], Array] = {}
    rows = []
    for a in first:
        for b in second:
            if (a, b) not in known:
                known[a, b] = np.asarray(price(list(_jointly_summed_cells(a, b))))
            rows.append(known[a, b])
    return np.asarray(rows).reshape(len(first), len(second), -1)


def _jointly_summed_cells(first: LayerUses, second: LayerUses) -> Iterator[SummedCell]:
    """The cells of a parameter with these uses by two layers, and the workers that sum each; as ``plan_parameters``."""
    needed: dict[int, list[Region]] = {}
    for worker, box, _ in sorted((*first, *second)):
        needed.setdefault(worker, []).append(box)
    held = {worker: disjoint_hulls(boxes) for worker, boxes in needed.items()}
    for cell in disjoint_cells({box for boxes in (*needed.values(), *held.values()) for box in boxes}):
        workers = tuple(w for w, boxes in held.items() if any(contains(box, cell) for box in boxes))
        made: dict[int, set[tuple[int, int]]] = {worker: set() for worker in workers}
        for layer, uses in enumerate((first, second)):
            for worker, box, group in uses:
                if contains(box, cell):
                    made[worker].add((layer, group))
        if len(workers) > 1 and len({frozenset(each) for each in made.values()}) > 1:
            yield SummedCell(workers, size(cell))
