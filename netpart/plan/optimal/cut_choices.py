"""Cut choices: the placements of a layer that the search chooses among, each as text of the language can say it.

A choice lists the directions of a grid (axes of the output, INPUT, REPLICA) and a worker for each of its cells. It
holds for the nets of all phases and micro-batches, which have different rows. Workers are taken as a mesh of one or two
axes: 8 as 8, 2 × 4 or 4 × 2, so that layers with different cuts still share workers. Parts are even, or in proportion
to the speeds of the workers that compute them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, permutations, product

import numpy as np

from netpart.errors import ConfigError
from netpart.graph.net import Node
from netpart.graph.passes.uneven_cuts import Ranges, cut_extent
from netpart.layers.layer import INPUT
from netpart.plan.price.devices import Devices
from netpart.spec import Placement, Region, Shard, whole_region

REPLICA = "REPLICA"
Over = int | str
"""An axis of the output, INPUT or REPLICA."""


@dataclass(frozen=True)
class CutChoice:
    """A grid: ``over[d]`` is cut into one part for each of ``shares[d]``, in proportion to these. ``workers`` compute
    the cells, in row-major order."""

    workers: tuple[int, ...]
    over: tuple[Over, ...] = ()
    shares: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class WorkerMesh:
    """Some workers as a grid of one or two axes, with the share of each part along each of them."""

    workers: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]


def choice_placement(node: Node, choice: CutChoice, sums: bool = True) -> Placement:
    """The placement of ``node`` by ``choice``; parts that would be empty are omitted. With ``sums``, copies sum the
    gradient of their output."""
    ranges = [_direction_ranges(node, over, shares) for over, shares in zip(choice.over, choice.shares, strict=True)]
    shards = []
    for cell, worker in zip(product(*ranges), choice.workers, strict=True):
        shard = _cell_shard(node, choice.over, cell, worker)
        if all(lo < hi for lo, hi in (*shard.region, *(shard.term or ()))):
            shards.append(shard)
    return Placement(tuple(shards), sums and REPLICA in choice.over)


def _direction_ranges(node: Node, over: Over, shares: Sequence[float]) -> Ranges:
    """The range of each part in one direction."""
    if over == REPLICA:
        return tuple((i, i + 1) for i in range(len(shares)))
    extent = _cut_length(node, over)
    if len(set(shares)) == 1:
        return cut_extent(extent, len(shares), spread=True)
    bounds = [0, *(round(done / sum(shares) * extent) for done in accumulate(shares))]
    return tuple(pairwise(bounds))


def _cut_length(node: Node, over: Over) -> int:
    """The number of elements in one direction of ``node``."""
    return (node.layer.contraction() or (1,))[0] if over == INPUT else node.layer.output.shape[int(over)]


def _cell_shard(node: Node, over: Sequence[Over], cell: Sequence[tuple[int, int]], worker: int) -> Shard:
    """The shard of one cell of a grid."""
    region: list[tuple[int, int]] = list(node.layer.output.whole)
    term: Region | None = None
    for direction, part in zip(over, cell, strict=True):
        if direction == INPUT:
            term = (part, *whole_region((node.layer.contraction() or ())[1:]))
        elif isinstance(direction, int):
            region[direction] = part
    return Shard(worker, tuple(region), term)


def _worker_meshes(devices: Devices) -> list[WorkerMesh]:
    """All workers as a grid of one and of two axes; the fastest half of them and so on down to one as a grid of one.

    If workers differ in speed, parts are in proportion to it; along one axis also even.
    """
    found: dict[WorkerMesh, None] = {}
    for group in _worker_groups(devices):
        for extents in _mesh_extents(len(group), len(group) == len(devices)):
            speeds = np.asarray([devices.speeds[w] for w in group]).reshape(extents)
            if len(extents) == 1:
                found[WorkerMesh(group, ((1.0,) * len(group),))] = None
            found[WorkerMesh(group, tuple(_axis_shares(speeds, axis) for axis in range(len(extents))))] = None
    return list(found)


def group_meshes(devices: Devices, group: Sequence[int]) -> list[WorkerMesh]:
    """The meshes of the workers of a group, as if there were no others."""
    meshes = _worker_meshes(devices.of(group))
    return [WorkerMesh(tuple(group[w] for w in mesh.workers), mesh.shares) for mesh in meshes]


def _axis_shares(speeds: np.ndarray, axis: int) -> tuple[float, ...]:
    """The share of each part along one axis of a mesh: that of the speeds of its workers."""
    sums = speeds.sum(axis=tuple(a for a in range(speeds.ndim) if a != axis))
    return tuple((sums / sums.max()).round(6).tolist())


def _worker_groups(devices: Devices) -> list[tuple[int, ...]]:
    """Groups of workers: all of them, the fastest half, quarter and so on, those of each kind of device, and each one
    that is the first of its kind."""
    order = np.argsort(-np.asarray(devices.speeds), kind="stable").tolist()
    sizes = [len(devices)]
    while sizes[-1] > 1:
        sizes.append(sizes[-1] // 2)
    groups = [tuple(sorted(order[:size])) for size in sizes]
    names = dict.fromkeys(device.name for device in devices.devices)
    kinds = [tuple(w for w, device in enumerate(devices.devices) if device.name == name) for name in names]
    return list(dict.fromkeys([*groups, *kinds, *(kind[:1] for kind in kinds)]))


def _mesh_extents(count: int, grids: bool) -> Iterator[tuple[int, ...]]:
    """The extents of the meshes of ``count`` workers: one axis, and with ``grids`` two."""
    yield (count,)
    yield from ((a, count // a) for a in range(2, count) if grids and count % a == 0)


def layer_choices(node: Node, meshes: Iterable[WorkerMesh]) -> list[CutChoice]:
    """The choices of ``node`` on ``meshes``, each of another placement; those of few workers first, as of two plans
    with the same price the first is taken."""
    found: dict[Placement, CutChoice] = {}
    for mesh in meshes:
        for choice in _mesh_choices(node, mesh):
            if _is_long_enough(node, choice):
                placement = choice_placement(node, choice)
                if len(placement.shards) == len(choice.workers) and _is_possible(node, placement):
                    found.setdefault(placement, choice)
    return sorted(found.values(), key=lambda choice: len(choice.workers))


def _mesh_choices(node: Node, mesh: WorkerMesh) -> Iterator[CutChoice]:
    """One choice for each way to assign a direction to each axis of ``mesh``."""
    if len(mesh.workers) == 1:
        yield CutChoice(mesh.workers)
        return
    directions: list[Over] = [*node.layer.cuts(), REPLICA]
    for over in permutations(directions, len(mesh.shares)):
        shares = zip(over, mesh.shares, strict=True)
        yield CutChoice(mesh.workers, over, tuple((1.0,) * len(s) if o == REPLICA else s for o, s in shares))


def _is_long_enough(node: Node, choice: CutChoice) -> bool:
    """True if no direction has fewer elements than parts."""
    pairs = zip(choice.over, choice.shares, strict=True)
    return all(over == REPLICA or _cut_length(node, over) >= len(shares) for over, shares in pairs)


def _is_possible(node: Node, placement: Placement) -> bool:
    """True unless the layer refuses the placement."""
    try:
        node.layer.is_self_sufficient(placement)
    except ConfigError:
        return False
    return True
