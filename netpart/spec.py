"""Immutable values that describe a cut: Spec, Region, Shard, Placement.

A Region is one half-open range ``(lo, hi)`` per axis, in the coordinates of the uncut tensor. The
region of a rank-0 tensor is ``()``: it is not empty, so "no region" is always ``None``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from netpart.box_index import are_boxes_disjoint

Region = tuple[tuple[int, int], ...]
Shape = tuple[int, ...]

FLOAT, INT, RECORD, BFLOAT16 = "float", "int", "record", "bfloat16"
"""Kinds of element: numbers of the job's dtype (float32 or float64), int32 labels, opaque records; and numbers that are
stored in bfloat16 (``Net.element``)."""
TENSOR = "tensor"
"""The kind of element of a buffer that a layer keeps for backward, if it is that of the layer's tensors."""


@dataclass(frozen=True)
class Spec:
    """Shape of an uncut tensor (axis 0 is the batch) and the kind of its elements.

    A batch of opaque records has shape ``()`` and counts its records in ``rows``.
    """

    shape: Shape
    dtype: str = FLOAT
    rows: int = 0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def whole(self) -> Region:
        return whole_region(self.shape)


def whole_region(shape: Iterable[int]) -> Region:
    """The region that covers a tensor of ``shape``."""
    return tuple((0, n) for n in shape)


def extent(region: Region) -> Shape:
    """Shape of a region."""
    return tuple(hi - lo for lo, hi in region)


def size(region: Region) -> int:
    """Number of elements of a region (1 for rank 0)."""
    return prod(hi - lo for lo, hi in region)


def intersect(a: Region, b: Region) -> Region | None:
    """The intersection of two regions of one tensor, None if they share no element."""
    # Comparisons instead of max and min: the partition calls this for every shard of every feed, and in Python a
    # function call costs more than a comparison.
    box = []
    for (alo, ahi), (blo, bhi) in zip(a, b, strict=True):
        lo = alo if alo > blo else blo
        hi = ahi if ahi < bhi else bhi
        if lo >= hi:
            return None
        box.append((lo, hi))
    return tuple(box)


def contains(outer: Region, inner: Region) -> bool:
    """True if every element of ``inner`` lies in ``outer``."""
    # No generator: the compiler of many workers calls this for every block of every collective.
    for (lo, hi), (start, end) in zip(outer, inner, strict=True):  # noqa: SIM110
        if start < lo or hi < end:
            return False
    return True


def subtract(a: Region, b: Region) -> list[Region]:
    """The elements of ``a`` that are not in ``b``, as disjoint boxes: at most two per axis."""
    common = intersect(a, b)
    if common is None:
        return [a]
    rest: list[Region] = []
    for axis, (lo, hi) in enumerate(common):
        before = (a[axis][0], lo)
        after = (hi, a[axis][1])
        sides = [side for side in (before, after) if side[0] < side[1]]
        # Earlier axes are limited to the common part, later ones keep all of ``a``: so no two boxes overlap.
        rest += [common[:axis] + (side,) + a[axis + 1 :] for side in sides]
    return rest


def remaining_boxes(region: Region, boxes: Iterable[Region]) -> tuple[Region, ...]:
    """The elements of ``region`` that no box of ``boxes`` covers, as disjoint boxes that are not empty."""
    rest = [region]
    for box in boxes:
        rest = [piece for each in rest for piece in subtract(each, box)]
    return tuple(filter(size, rest))


def hull(regions: Sequence[Region]) -> Region:
    """The smallest region that contains all of ``regions``."""
    return tuple((min(lo for lo, _ in r), max(hi for _, hi in r)) for r in zip(*regions, strict=True))


def split_box(box: Region, elements: int = 1 << 16) -> Iterator[Region]:
    """Cut a box into boxes of at most ``elements`` elements, so that temporary arrays of one box stay small.

    It cuts along the first axis of more than one row, so that each piece is contiguous in a row-major array.
    """
    axis = next((a for a, (lo, hi) in enumerate(box) if hi - lo > 1), None)
    if axis is None or size(box) <= elements:
        yield box
        return
    lo, hi = box[axis]
    rows = max(1, elements * (hi - lo) // size(box))
    for start in range(lo, hi, rows):
        yield from split_box((*box[:axis], (start, min(hi, start + rows)), *box[axis + 1 :]), elements)


def shift_region(region: Region, axis: int, shift: int) -> Region:
    """``region`` moved by ``shift`` along ``axis``."""
    lo, hi = region[axis]
    return (*region[:axis], (lo + shift, hi + shift), *region[axis + 1 :])


def relative_slices(box: Region, origin: Region) -> tuple[slice, ...]:
    """Slices that select ``box`` in an array that holds the region ``origin``."""
    return tuple(slice(lo - start, hi - start) for (lo, hi), (start, _) in zip(box, origin, strict=True))


@dataclass(frozen=True)
class Shard:
    """One worker's part of a layer.

    ``region`` is the part of the output that the worker computes. If the worker computes only one addend of it,
    ``term`` is the box of the contraction space that this addend sums over.
    """

    worker: int
    region: Region
    term: Region | None = None

    def __hash__(self) -> int:
        # Without ``term``: shards are hashed often, and equal shards still have equal hashes.
        return hash((self.worker, self.region))


@dataclass(frozen=True)
class Placement:
    """The shards of a layer. ``sum_gradient``: replicas all-reduce the gradient of their output."""

    shards: tuple[Shard, ...]
    sum_gradient: bool = False
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Computed once: passes look placements up in dictionaries, and a placement may have thousands of shards.
        # object.__setattr__ is how a frozen dataclass sets a field of its own.
        object.__setattr__(self, "_hash", hash((self.shards, self.sum_gradient)))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def workers(self) -> tuple[int, ...]:
        return tuple(sorted({s.worker for s in self.shards}))

    @cached_property
    def terms(self) -> dict[Region | None, list[int]]:
        """Indices of the shards of each term, in order of first appearance."""
        found: dict[Region | None, list[int]] = {}
        for i, s in enumerate(self.shards):
            found.setdefault(s.term, []).append(i)
        return found

    @cached_property
    def classes(self) -> dict[tuple[Region, Region | None], list[int]]:
        """Indices of the shards of each class: replicas have equal region and term."""
        found: dict[tuple[Region, Region | None], list[int]] = {}
        for i, s in enumerate(self.shards):
            found.setdefault((s.region, s.term), []).append(i)
        return found

    @cached_property
    def members_by_worker(self) -> dict[tuple[Region, Region | None], dict[int, int]]:
        """Of each class, the index of the first shard on each worker, in order of first appearance."""
        found: dict[tuple[Region, Region | None], dict[int, int]] = {}
        for i, s in enumerate(self.shards):
            found.setdefault((s.region, s.term), {}).setdefault(s.worker, i)
        return found

    @cached_property
    def exact(self) -> bool:
        """True if two shards of one term are always equal or disjoint."""
        regions: dict[Region | None, list[Region]] = {}
        for region, term in self.classes:
            regions.setdefault(term, []).append(region)
        return all(map(are_boxes_disjoint, regions.values()))

    @cached_property
    def has_no_replicas(self) -> bool:
        """True if no two shards of one term share an element, so that there are no replicas."""
        return self.exact and len(self.classes) == len(self.shards)


def single_placement(worker: int, spec: Spec) -> Placement:
    """The placement of an uncut tensor on one worker."""
    return Placement((Shard(worker, spec.whole),))
