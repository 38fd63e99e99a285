"""Pass: who holds which part of which parameter, and whose gradients are summed (regions.md, D11).

The needed regions of a parameter, over all layers that share it and all phases, are cut into disjoint cells.
A cell on several workers is summed over them, unless all contributions are whole gradients of full replicas,
which are bit-equal without a word. Cells of the same workers travel together in static buckets, packed in the
order in which backward completes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from netpart.collectives.buckets import pack
from netpart.graph.graph import LAYER, Graph, Part
from netpart.graph.net import Parameter
from netpart.spec import Region, contains, hull, intersect, size, subtract


@dataclass(frozen=True)
class Holding:
    """The box of a parameter that a worker stores, updates and saves."""

    parameter: Parameter
    box: Region


@dataclass(frozen=True)
class Cell:
    """A box of a parameter whose gradient is summed over a bucket's workers."""

    parameter: Parameter
    box: Region


@dataclass(frozen=True)
class Bucket:
    """Cells that are all-reduced together, in one flat buffer, over ``workers``."""

    workers: tuple[int, ...]
    cells: tuple[Cell, ...]

    @property
    def elements(self) -> int:
        return sum(size(c.box) for c in self.cells)


Ready = tuple[int, tuple[int, ...], Cell]
"""(when its last contribution is made, workers that sum it, cell)."""

Group = tuple[int, int, Region, Region | None]
"""(graph, node, region, term): replicas of one part."""


@dataclass(frozen=True)
class Use:
    """One part's need of one parameter. ``group`` names the class of replicas it belongs to."""

    part: Part
    slot: int
    box: Region
    group: Group
    full: bool


@dataclass
class ParameterPlan:
    """``holdings[worker]``, the buckets in the order in which they become ready, names of trained parameters."""

    holdings: list[list[Holding]]
    buckets: list[Bucket] = field(default_factory=list)
    trained: set[str] = field(default_factory=set)


def synchronise(graphs: Sequence[Graph], workers: int, itemsize: int, first_bucket: int) -> ParameterPlan:
    """Plans parameters over the graphs of all phases and micro-batches, and marks the parts that train them."""
    plan = ParameterPlan([[] for _ in range(workers)])
    ready: list[Ready] = []
    for parameter, uses in gather_uses(graphs).items():
        held = {w: disjoint_hulls(boxes) for w, boxes in needed_boxes(uses).items()}
        for worker, boxes in held.items():
            plan.holdings[worker] += [Holding(parameter, box) for box in boxes]
        ready += summed_cells(parameter, uses, held)
    plan.trained = {p.name for g in graphs for node in g.net.nodes if g.net.trained[node.index] for p in node.params}
    plan.buckets = bucketed(ready, itemsize, first_bucket)
    return plan


def gather_uses(graphs: Sequence[Graph]) -> dict[Parameter, list[Use]]:
    """Every need of every parameter, keyed by name over all graphs; marks contributing parts as training."""
    uses: dict[str, list[Use]] = {}
    named: dict[str, Parameter] = {}
    for g, graph in enumerate(graphs):
        for part in graph.parts:
            node = graph.net.nodes[part.node]
            if part.kind != LAYER or not node.params:
                continue
            boxes = node.layer.needs(part.region, part.term).params
            part.trains = tuple(part.live and box is not None for box in boxes)
            for slot, (parameter, box) in enumerate(zip(node.params, boxes, strict=True)):
                named.setdefault(parameter.name, parameter)
                if box is not None:
                    group = (g, part.node, part.region, part.term)
                    uses.setdefault(parameter.name, []).append(Use(part, slot, box, group, graph.full[part.node]))
    return {named[name]: found for name, found in uses.items()}


def needed_boxes(uses: list[Use]) -> dict[int, list[Region]]:
    """The boxes that each worker needs, workers in ascending order."""
    needed: dict[int, list[Region]] = {}
    for u in sorted(uses, key=lambda u: u.part.worker):
        needed.setdefault(u.part.worker, []).append(u.box)
    return needed


def summed_cells(parameter: Parameter, uses: list[Use], held: dict[int, list[Region]]) -> list[Ready]:
    """(when ready, workers, cell) of every cell to be summed; mutes all but one of each class of full replicas.

    A worker takes part in the sum of all that it holds, also of what fills the hull of its needs: it updates that
    too, and copies must stay equal.
    """
    if len(held) == 1:
        return []
    boxes = {u.box for u in uses} | {box for of_worker in held.values() for box in of_worker}
    cells = [(box, [u for u in uses if contains(u.box, box)], holders(held, box)) for box in disjoint_cells(boxes)]
    if all(is_whole_everywhere(users, workers) for _, users, workers in cells):
        return []
    first: dict[object, Part] = {}
    for u in uses:
        if u.full and u.part.live and first.setdefault((u.group, u.slot), u.part) is not u.part:
            u.part.trains = tuple(t and s != u.slot for s, t in enumerate(u.part.trains))
    found = []
    for box, users, workers in cells:
        training = [u.part.index for u in users if u.part.trains[u.slot]]
        if len(workers) > 1 and training:
            found.append((-min(training), workers, Cell(parameter, box)))
    return found


def holders(held: dict[int, list[Region]], box: Region) -> tuple[int, ...]:
    """The workers that hold a cell, ascending."""
    return tuple(w for w, boxes in held.items() if any(contains(b, box) for b in boxes))


def is_whole_everywhere(users: list[Use], workers: tuple[int, ...]) -> bool:
    """True if every worker that holds the cell gets the whole gradient by itself."""
    groups: dict[tuple[Group, int], set[int]] = {}
    for u in users:
        if u.part.trains[u.slot]:
            if len(workers) > 1 and not u.full:
                return False
            groups.setdefault((u.group, u.slot), set()).add(u.part.worker)
    return all(members == set(workers) for members in groups.values())


def bucketed(ready: list[Ready], itemsize: int, first_bucket: int) -> list[Bucket]:
    """Packs cells of the same workers, in order of readiness; buckets are ordered by their last cell."""
    by_workers: dict[tuple[int, ...], list[tuple[int, Cell]]] = {}
    for when, workers, cell in sorted(ready, key=lambda r: r[0]):
        by_workers.setdefault(workers, []).append((when, cell))
    buckets: list[tuple[int, Bucket]] = []
    for workers, cells in by_workers.items():
        for group in pack([size(c.box) * itemsize for _, c in cells], first=first_bucket):
            buckets.append((cells[group[-1]][0], Bucket(workers, tuple(cells[i][1] for i in group))))
    return [bucket for _, bucket in sorted(buckets, key=lambda b: b[0])]


def disjoint_hulls(boxes: Iterable[Region]) -> list[Region]:
    """Merges boxes that overlap into their hull until none do: what a worker stores, each element once."""
    merged: list[Region] = []
    for box in dict.fromkeys(boxes):
        while (other := next((m for m in merged if intersect(m, box) is not None), None)) is not None:
            merged.remove(other)
            box = hull([other, box])
        merged.append(box)
    return sorted(merged)


def disjoint_cells(boxes: Iterable[Region]) -> list[Region]:
    """The coarsest common refinement of ``boxes``: every box is a union of cells."""
    cells: list[Region] = []
    for box in sorted(boxes):
        fresh = [box]
        refined: list[Region] = []
        for cell in cells:
            common = intersect(cell, box)
            refined += [cell] if common is None else [common, *subtract(cell, common)]
            fresh = [piece for f in fresh for piece in subtract(f, cell)]
        cells = refined + fresh
    return sorted(cells)
