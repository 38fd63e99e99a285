"""Message rows: what crosses between workers for one choice of a layer and all choices of its readers.

The sizes are those of the rewrite: a reader takes a region from a replica on its own worker, or from one elsewhere; a
region crosses to a worker once, even if several readers there need it; one replica of each class of a reader returns
the gradient. A row describes one combination of choices, in so few numbers that equal ones are found quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays, equal_boxes, overlap_boxes, overlap_sizes


@dataclass(frozen=True, eq=False)
class ReaderPart:
    """Parts of a layer that read an output as input ``k``; ``gradient``: they return the gradient."""

    arrays: ChoiceArrays
    k: int
    gradient: bool

    @cached_property
    def needs(self) -> Array:
        """[choice, t, axis, end]: what each worker needs."""
        return self.arrays.needs(self.k)


@dataclass(frozen=True, eq=False)
class OutputReader:
    """Readers of an output with one choice among them: a layer, with its inner layers, or several that are tied."""

    parts: tuple[ReaderPart, ...]

    @property
    def count(self) -> int:
        """The number of choices."""
        return len(self.parts[0].arrays.placements)

    @cached_property
    def classes(self) -> tuple[Array, Array]:
        """One of each choices that need the same, and by choice the number of that one."""
        columns = [
            array.reshape(self.count, -1)
            for part in self.parts
            for array in (part.needs, part.arrays.classes, part.arrays.places)
        ]
        _, chosen, which = np.unique(np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True)
        return chosen, which.reshape(-1)


@dataclass(frozen=True)
class MessageRows:
    """Combinations of the readers' classes, with an axis for each reader, in ``codes`` [..., part, t, s]: twice the
    elements that t takes from s for this part and those after it, plus 1 if their gradient returns. The diagonal has
    what the workers alone decide: the place of t among the workers of the part, and for the first part ``_need_codes``,
    in multiples of the number of workers. ``summed`` [...]: replicas of the source sum the gradient."""

    codes: Array
    summed: Array


def message_rows(source: ChoiceArrays, c: int, regions: Array, readers: Sequence[OutputReader]) -> MessageRows:
    """The rows of choice ``c`` of ``source``, which holds ``regions`` [t, axis, end] of the output."""
    spread = [
        (part, reader.classes[0], _AxisSpread(i, len(readers)))
        for i, reader in enumerate(readers)
        for part in reader.parts
    ]
    flows = [_ReaderFlow(source, c, regions, *each) for each in spread]
    paired = _all_of([flow.paired for flow in flows])
    flags = [np.where(paired[..., None, None], flow.gradient, flow.returned) for flow in flows]
    merged = _merge_messages([flow.sizes for flow in flows], flags, _common_sizes(source, c, regions, flows))
    codes = np.stack(merged, axis=-3)
    own = np.arange(source.workers)
    for i, flow in enumerate(flows):
        codes[..., i, own, own] = flow.places
    codes[..., 0, own, own] += source.workers * _need_codes(flows, flags)
    gradient = any(flow.gradient for flow in flows)
    return MessageRows(codes, ~paired & bool(source.replicated[c] and gradient))


@dataclass(frozen=True)
class _AxisSpread:
    """Turns an array whose first axis are the choices of reader ``i`` into one with an axis for each of ``count``
    readers."""

    i: int
    count: int

    def __call__(self, array: Array) -> Array:
        ones = [1] * self.count
        ones[self.i] = array.shape[0]
        return array.reshape(*ones, *array.shape[1:])


class _ReaderFlow:
    """What the choices ``chosen`` of the parts of a reader take from choice ``c`` of the source: ``sizes`` and
    ``returned`` [..., t, s], also from their own worker; ``paired`` [...]: every replica of a class of the source is
    read once by each class of the reader that reads one, so each has the whole gradient."""

    def __init__(
        self, source: ChoiceArrays, c: int, regions: Array, part: ReaderPart, chosen: Array, spread: _AxisSpread
    ) -> None:
        needs, together = part.needs[chosen], part.arrays.together[chosen]
        sizes = _taken_sizes(source, c, regions, needs)
        first = np.broadcast_to(part.arrays.firsts[chosen][:, :, None], sizes.shape)
        local = np.broadcast_to(np.eye(source.workers, dtype=bool), sizes.shape)
        # Of a source without replicas, the replica on its own worker returns the gradient if there is one.
        returned = first if source.replicated[c] else np.where(together, local, first)
        paired = np.full(len(needs), bool(source.replicated[c] and not part.gradient))
        if source.replicated[c] and part.gradient:
            paired = _are_paired(source, c, sizes, together)
        self.gradient = part.gradient
        self.needs, self.sizes, self.places = spread(needs), spread(sizes), spread(part.arrays.places[chosen])
        self.returned, self.paired = spread(returned & part.gradient), spread(paired)


def _taken_sizes(source: ChoiceArrays, c: int, regions: Array, needs: Array) -> Array:
    """[..., t, s]: elements of ``needs`` [..., t, axis, end] that worker t takes from worker s."""
    found = overlap_sizes(regions, needs[..., None, :, :]).astype(np.int64) * source.picks[c]
    return np.asarray(found)


def _are_paired(source: ChoiceArrays, c: int, sizes: Array, together: Array) -> Array:
    """[u]: True if every replica of a class of the source is read once by each class of the reader that reads one."""
    # [u, t, s]: how many replicas of t's class read from s.
    counts = together.astype(np.float32) @ (sizes > 0).astype(np.float32)
    leader = [int(np.argmax(row)) if row.any() else s for s, row in enumerate(source.together[c])]
    return np.asarray((counts <= 1).all(axis=(1, 2)) & (counts == counts[:, :, leader]).all(axis=(1, 2)))


def _all_of(flags: Sequence[Array]) -> Array:
    """True where all ``flags`` are, with their axes broadcast."""
    found = flags[0]
    for each in flags[1:]:
        found = found & each
    return np.asarray(found)


def _common_sizes(
    source: ChoiceArrays, c: int, regions: Array, flows: Sequence[_ReaderFlow]
) -> dict[tuple[int, int], Array]:
    """By pair of readers i < j: [..., t, s], the elements that both take."""
    return {
        (i, j): _taken_sizes(source, c, regions, overlap_boxes(flows[i].needs, flows[j].needs))
        for j in range(len(flows))
        for i in range(j)
    }


def _merge_messages(
    sizes: Sequence[Array], flags: Sequence[Array], common: dict[tuple[int, int], Array]
) -> list[Array]:
    """By reader: the codes [..., t, s] of the messages that arrive for it first. A region within another one crosses
    with the largest such, and returns its gradient if one of both does."""
    shape = np.broadcast_shapes(*(each.shape for each in (*sizes, *flags)))
    full = [np.broadcast_to(each, shape) for each in sizes]
    carriers = [_find_carriers(i, full, common) for i in range(len(full))]
    found = []
    for i, carrier in enumerate(carriers):
        first = _all_of([np.ones(shape, bool), *(other != carrier for other in carriers[:i])])
        elements = np.choose(carrier, full)
        together = np.zeros(shape, bool)
        for other, flag in zip(carriers, flags, strict=True):
            together |= (other == carrier) & flag
        found.append(np.where(first, 2 * elements + (together & (elements > 0)), 0))
    return found


def _find_carriers(i: int, sizes: Sequence[Array], common: dict[tuple[int, int], Array]) -> Array:
    """[..., t, s]: the reader with the largest region that contains that of reader ``i``; the first of equal ones."""
    best, size = np.full(sizes[i].shape, i), sizes[i]
    for j, other in enumerate(sizes):
        if j != i:
            inside = (common[min(i, j), max(i, j)] == sizes[i]) & (sizes[i] > 0)
            larger = inside & ((other > size) | ((other == size) & (j < best)))
            best, size = np.where(larger, j, best), np.where(larger, other, size)
    return best


def _need_codes(flows: Sequence[_ReaderFlow], flags: Sequence[Array]) -> Array:
    """[..., t]: what the parts on t that get messages take from t itself, in elements; in multiples of the number of
    workers, the first worker that needs the same as t; in multiples of 4, whether all these parts need the same, and
    whether each of them returns the gradients of all that it joins, or of nothing."""
    away = ~np.eye(flows[0].sizes.shape[-1], dtype=bool)
    asking = [np.asarray((flow.sizes * away > 0).any(axis=-1)) for flow in flows]
    same = _all_of([equal_boxes(f.needs[..., :, None, :, :], f.needs[..., None, :, :, :]) for f in flows])
    alike = uniform = np.ones_like(asking[0])
    for j, (flow, flag) in enumerate(zip(flows, flags, strict=True)):
        taken = flow.sizes > 0
        mixed = (taken & flag).any(axis=-1) & (taken & ~flag).any(axis=-1)
        uniform = uniform & ~(asking[j] & mixed)
        for i in range(j):
            alike = alike & (~(asking[i] & asking[j]) | equal_boxes(flows[i].needs, flow.needs))
    own = np.diagonal(flows[0].sizes * asking[0][..., None], axis1=-2, axis2=-1)
    for flow, asks in zip(flows, asking, strict=True):
        own = np.maximum(own, np.diagonal(flow.sizes * asks[..., None], axis1=-2, axis2=-1))
    return np.asarray(4 * (own * len(away) + same.argmax(axis=-1)) + 2 * alike + uniform)
