"""Choice arrays: the regions of all choices of a layer as arrays, so that many pairs of choices are compared at once.

Axes of the arrays are named by letters: c, choices of a layer; s, workers that send; t, workers that receive. A worker
without a shard has an empty region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from netpart.graph.net import Node
from netpart.graph.passes.expand import inner_placement
from netpart.layers.layer import Layer, LayerExpansion
from netpart.spec import Placement, Region, Shard

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(eq=False)
class ChoiceArrays:
    """The ``placements`` of one layer on ``workers`` workers, one for each choice; ``node`` is a layer of that kind.
    ``expands``: the rewrite may expand it."""

    node: Node
    placements: list[Placement]
    workers: int
    expands: bool = True

    def only(self, c: int) -> ChoiceArrays:
        """Choice ``c`` alone."""
        return ChoiceArrays(self.node, [self.placements[c]], self.workers, self.expands)

    @cached_property
    def shards(self) -> list[list[Shard | None]]:
        """[c][w]: the shard of each worker."""
        found = []
        for placement in self.placements:
            of_worker = {shard.worker: shard for shard in placement.shards}
            found.append([of_worker.get(w) for w in range(self.workers)])
        return found

    @cached_property
    def classes(self) -> Array:
        """[c, w]: the class of replicas of each worker's shard; -1 without one."""
        found = np.full((len(self.placements), self.workers), -1)
        for c, placement in enumerate(self.placements):
            for number, members in enumerate(placement.classes.values()):
                for member in members:
                    found[c, placement.shards[member].worker] = number
        return found

    @cached_property
    def places(self) -> Array:
        """[c, w]: the place of each worker's shard among all shards; 0 without one."""
        found = np.zeros((len(self.placements), self.workers), int)
        for c, placement in enumerate(self.placements):
            for place, shard in enumerate(placement.shards):
                found[c, shard.worker] = place
        return found

    @cached_property
    def together(self) -> Array:
        """[c, s, t]: True if both workers have replicas of one class."""
        of = self.classes
        return np.asarray((of[:, :, None] == of[:, None, :]) & (of[:, :, None] >= 0))

    @cached_property
    def firsts(self) -> Array:
        """[c, w]: True for the first replica of each class."""
        found = np.zeros(self.classes.shape, bool)
        for c, placement in enumerate(self.placements):
            for members in placement.classes.values():
                found[c, placement.shards[members[0]].worker] = True
        return found

    @cached_property
    def replicated(self) -> Array:
        """[c]: True for placements with replicas."""
        return np.asarray([not placement.has_no_replicas for placement in self.placements])

    @cached_property
    def terms(self) -> Array:
        """[c, w]: the number of the addend that each worker computes; -1 without a shard."""
        found = np.full((len(self.placements), self.workers), -1)
        for c, placement in enumerate(self.placements):
            for number, members in enumerate(placement.terms.values()):
                for member in members:
                    found[c, placement.shards[member].worker] = number
        return found

    @cached_property
    def addends(self) -> Array:
        """[c]: the number of addends that each element of the output is the sum of."""
        return np.asarray(self.terms.max(axis=1) + 1)

    @cached_property
    def picks(self) -> Array:
        """[c, t, s]: True if a reader on t takes from s what the class of s holds: from itself, or else the replica
        that follows it in rotation."""
        distance = (np.arange(self.workers)[None, :] - np.arange(self.workers)[:, None]) % self.workers
        found = np.zeros((len(self.placements), self.workers, self.workers), bool)
        for c, of_class in enumerate(self.classes):
            for number in range(of_class.max() + 1):
                members = np.flatnonzero(of_class == number)
                nearest = members[np.argmin(distance[:, members], axis=1)]
                found[c, np.arange(self.workers), nearest] = True
        return found

    @cached_property
    def expansions(self) -> list[list[LayerExpansion]]:
        """[c]: the expansions that the rewrite makes, because parts need results of each other."""
        made: list[LayerExpansion] = []
        found = []
        for placement in self.placements:
            depth, layer = 0, self.node.layer
            while self.expands and not layer.is_self_sufficient(placement):
                if depth == len(made):
                    made.append(layer.expansion(f"{layer.inner_prefix}-{layer.name}"))
                layer = made[depth].outer
                depth += 1
            found.append(made[:depth])
        return found

    @cached_property
    def inner(self) -> list[ChoiceArrays]:
        """The inner layers that the rewrite makes, by depth; they have no shards for choices that need none."""
        depth = max(map(len, self.expansions), default=0)
        found = []
        for d in range(depth):
            layer = next(made[d].inner for made in self.expansions if len(made) > d)
            pairs = zip(self.placements, self.expansions, strict=True)
            placements = [inner_placement(p, made[d]) if len(made) > d else Placement(()) for p, made in pairs]
            found.append(ChoiceArrays(replace(self.node, layer=layer), placements, self.workers, expands=False))
        return found

    def inner_input(self, d: int, k: int) -> int | None:
        """The input of the inner layer at depth ``d`` that reads what input ``k`` of the layer does; None without
        one."""
        made = next(made[d] for made in self.expansions if len(made) > d)
        read = made.sources or tuple(range(len(made.inner.inputs)))
        return read.index(k) if k in read else None

    def layer_of(self, c: int) -> Layer:
        """The layer that computes the output with choice ``c``: the outer one of the last expansion."""
        return self.expansions[c][-1].outer if self.expansions[c] else self.node.layer

    def regions(self, output: int) -> Array:
        """[c, w, axis, end]: the region of ``output`` that each worker holds."""
        rank = self.node.layer.outputs[output].rank
        held = self.node.layer.outputs_of
        boxes = [[held(s.region)[output] if s else None for s in row] for row in self.shards]
        return _boxes_array(boxes, rank)

    def needs(self, k: int) -> Array:
        """[c, w, axis, end]: the region of input ``k`` that each worker needs. Inputs after those of the layer are
        results of inner layers, which some choices lack."""
        layers = [self.layer_of(c) for c in range(len(self.placements))]
        rank = next(layer.inputs[k].rank for layer in layers if k < len(layer.inputs))
        rows = zip(layers, self.shards, strict=True)
        boxes = [[_needed_box(layer, s, k) for s in row] for layer, row in rows]
        return _boxes_array(boxes, rank)


def _needed_box(layer: Layer, shard: Shard | None, k: int) -> Region | None:
    """The region of input ``k`` that a shard of ``layer`` needs; None without one."""
    return layer.needs(shard.region, shard.term).inputs[k] if shard and k < len(layer.inputs) else None


def _boxes_array(boxes: Sequence[Sequence[Region | None]], rank: int) -> Array:
    """The boxes as an array; None is empty."""
    found = np.zeros((len(boxes), len(boxes[0]), rank, 2), np.int32)
    for c, row in enumerate(boxes):
        for w, box in enumerate(row):
            if box is not None:
                found[c, w] = np.reshape(box, (rank, 2))
    return found


def equal_boxes(a: Array, b: Array) -> Array:
    """True where two boxes are equal, with the axes of both arrays broadcast."""
    return np.asarray((a == b).all(axis=(-1, -2)))


def overlap_boxes(a: Array, b: Array) -> Array:
    """The intersections of boxes, with the axes of both arrays broadcast; empty ones have an end before their start."""
    return np.stack([np.maximum(a[..., 0], b[..., 0]), np.minimum(a[..., 1], b[..., 1])], axis=-1)


def overlap_sizes(a: Array, b: Array) -> Array:
    """The number of elements in the intersection of boxes, with the axes of both arrays broadcast."""
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    found = np.ones(shape)
    # Axis by axis and in place: these arrays are the largest of the search.
    for axis in range(a.shape[-2]):
        length = np.minimum(a[..., axis, 1], b[..., axis, 1]) - np.maximum(a[..., axis, 0], b[..., axis, 0])
        np.maximum(length, 0, out=length)
        found *= length
    return found


def box_sizes(boxes: Array) -> Array:
    """The number of elements of each box; 1 for rank 0."""
    return np.asarray((boxes[..., 1] - boxes[..., 0]).prod(axis=-1), float)
