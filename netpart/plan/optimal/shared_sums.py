"""Shared sums: what it costs to sum the gradients of a parameter that several layers share, for all their choices.

A worker that holds the parameter for one layer only still takes part in the sums of the others' gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from netpart.graph.net import Net, Parameter
from netpart.graph.passes.cells import disjoint_cells, disjoint_hulls
from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.spec import Region, contains, size

ReplicaClass = tuple[int, int]
"""(node, the class of replicas among its parts)."""
PartUse = tuple[int, Region, ReplicaClass]
"""(worker, the region of the parameter that its part needs, the class of replicas of the part)."""
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


def parameter_uses(arrays: ChoiceArrays, n: int, slot: int) -> list[LayerUses]:
    """[c]: how the parts of each choice of node ``n``, which ``arrays`` has, use parameter ``slot`` of the layer."""
    found = []
    for c, row in enumerate(arrays.shards):
        layer, uses = arrays.layer_of(c), []
        for worker, shard in enumerate(row):
            box = layer.needs(shard.region, shard.term).params[slot] if shard else None
            if box is not None:
                uses.append((worker, box, (n, int(arrays.classes[c, worker]))))
        found.append(tuple(uses))
    return found


def joint_table(uses: Sequence[Sequence[LayerUses]], price: Callable[[list[SummedCell]], tuple[float, float]]) -> Array:
    """[c, d, ..., figure]: ``price`` of the cells that are summed, for each combination of choices. ``uses[v][c]`` are
    the uses by all layers that follow variable v, in its choice c."""
    # Few choices differ in how they use the parameter.
    kinds = [list(dict.fromkeys(of_variable)) for of_variable in uses]
    few = np.asarray([price(list(_jointly_summed_cells(sum(each, ())))) for each in product(*kinds)])
    few = few.reshape(*map(len, kinds), -1)
    places = ([known.index(each) for each in of_variable] for known, of_variable in zip(kinds, uses, strict=True))
    return np.asarray(few[np.ix_(*places)])


def _jointly_summed_cells(uses: LayerUses) -> Iterator[SummedCell]:
    """The cells of a parameter with these uses, and the workers that sum each; as ``plan_parameters``."""
    needed: dict[int, list[Region]] = {}
    for worker, box, _ in sorted(uses):
        needed.setdefault(worker, []).append(box)
    held = {worker: disjoint_hulls(boxes) for worker, boxes in needed.items()}
    for cell in disjoint_cells({box for boxes in (*needed.values(), *held.values()) for box in boxes}):
        workers = tuple(w for w, boxes in held.items() if any(contains(box, cell) for box in boxes))
        made: dict[int, set[ReplicaClass]] = {worker: set() for worker in workers}
        for worker, box, group in uses:
            if contains(box, cell):
                made[worker].add(group)
        if len(workers) > 1 and len({frozenset(each) for each in made.values()}) > 1:
            yield SummedCell(workers, size(cell))
