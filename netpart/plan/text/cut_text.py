"""A placement in words: ``batch 2+2+4``, ``neurons 4+4``, ``batch 8+8 × rows 14+14``, ``2 replicas``, ``whole``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from netpart.layers.layer import Layer
from netpart.spec import RECORD, Placement

MOST = 4
"""Largest number of parts that are listed one by one; beyond that equal neighbours are counted: ``15×4+6``."""


def cut_text(layer: Layer, placement: Placement) -> str:
    """Describe how ``placement`` cuts the output of ``layer``."""
    named = [f"{axis_name(layer, axis)} {sizes_text(sizes)}" for axis, sizes in axis_sizes(placement).items()]
    terms = [term[0] for term in placement.terms if term]
    named += [f"inputs {sizes_text([hi - lo for lo, hi in terms])}"] if len(terms) > 1 else []
    copies = max(map(len, placement.classes.values()))
    if copies > 1:
        named.append(f"{copies} {'readers' if layer.output.dtype == RECORD else 'replicas'}")
    return " × ".join(named) or "whole"


def place_text(layer: Layer, placement: Placement) -> str:
    """Describe how ``placement`` cuts the output of ``layer``, and the workers of its parts: ``batch 4+4 on 0, 1``."""
    workers = ", ".join(str(shard.worker) for shard in placement.shards)
    summed = ", gradients summed" if placement.sum_gradient else ""
    return f"{cut_text(layer, placement)} on {workers}{summed}"


def axis_sizes(placement: Placement) -> dict[int, list[int]]:
    """The sizes of the parts along every axis that is cut, in order."""
    found: dict[int, list[int]] = {}
    for axis, ranges in enumerate(zip(*(s.region for s in placement.shards), strict=True)):
        distinct = sorted(set(ranges))
        if len(distinct) > 1:
            found[axis] = [hi - lo for lo, hi in distinct]
    return found


def axis_name(layer: Layer, axis: int) -> str:
    """Name of an axis of the layer's output."""
    rank = layer.output.rank
    if axis == 0:
        return "batch"
    if rank == 2:
        return "neurons"
    space = {4: ("channels", "rows", "columns"), 5: ("channels", "depth", "rows", "columns")}
    return space[rank][axis - 1] if rank in space else f"axis {axis}"


def sizes_text(sizes: Sequence[int]) -> str:
    """``2+2+4``, or ``15×4+6`` for many."""
    if len(sizes) <= MOST:
        return "+".join(map(str, sizes))
    runs = [(size, len(list(run))) for size, run in groupby(sizes)]
    return "+".join(f"{count}×{size}" if count > 1 else str(size) for size, count in runs)
