"""Transfer tables: what it costs to bring an output of a layer to its readers, for all their choices at once.

The bytes are those of the rewrite: a reader takes a region from a replica on its own worker, or from one elsewhere; a
region crosses to a worker once, even if several readers there need it; one replica of each class of a reader returns
the gradient, and replicas that do not have all of it sum it. The seconds are those of the busiest port, sending or
receiving. In an all-gather or a broadcast a region may be forwarded, so it counts once where it leaves; addends may be
summed as an all-reduce, so they count no more than that. A schedule of these messages takes at least as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays, box_sizes, overlap_boxes, overlap_sizes
from netpart.plan.optimal.link_prices import LinkPrices


@dataclass(frozen=True)
class OutputReader:
    """A layer that reads an output as its input ``k``; ``gradient``: it returns the gradient."""

    arrays: ChoiceArrays
    k: int
    gradient: bool


@dataclass(frozen=True)
class TransferTable:
    """Seconds and bytes forward and backward, with an axis for the choices of the source and of each reader."""

    forward: Array
    backward: Array
    sent: Array
    returned: Array


def transfer_table(
    source: ChoiceArrays, output: int, readers: Sequence[OutputReader], prices: LinkPrices, width: int
) -> TransferTable:
    """The table of one output of ``source`` with one or two ``readers``; ``width`` is the bytes of an element."""
    rows = list(_choice_rows(source, output, readers, prices, width))
    return TransferTable(*(np.stack(column) for column in zip(*rows, strict=True)))


@dataclass(frozen=True)
class _ReaderClasses:
    """The choices of a reader by what they need: ``needs`` [u, t, axis, end]; ``which`` [r] is the u of each choice.

    ``together`` and ``firsts`` are those of the choices, for the replicas that return gradients.
    """

    needs: Array
    together: Array
    firsts: Array
    which: Array


def _reader_classes(reader: OutputReader) -> _ReaderClasses:
    """Group the choices of ``reader`` that cost the same whatever their source does."""
    arrays = reader.arrays
    needs = arrays.needs(reader.k)
    count = len(arrays.choices)
    keys = np.concatenate([needs.reshape(count, -1), arrays.classes], axis=1)
    _, chosen, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return _ReaderClasses(needs[chosen], arrays.together[chosen], arrays.firsts[chosen], which.reshape(-1))


def _choice_rows(
    source: ChoiceArrays, output: int, readers: Sequence[OutputReader], prices: LinkPrices, width: int
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """The four tables of each choice of the source."""
    classes = [_reader_classes(reader) for reader in readers]
    regions = source.regions(output)
    wanted = classes[0].needs[:, None] if len(classes) == 1 else None
    both = None if wanted is not None else overlap_boxes(classes[0].needs[:, None], classes[1].needs[None, :])
    for c in range(len(source.choices)):
        flows = [_Flow(source, c, regions, of, reader) for of, reader in zip(classes, readers, strict=True)]
        common = None if both is None else _crossing_sizes(source, c, regions, both)
        found = _price_flows(_Joint(source, c, regions, flows, common), prices, width)
        axes = np.ix_(*(of.which for of in classes))
        yield tuple(table[axes] for table in found)  # type: ignore[misc]


def _crossing_sizes(source: ChoiceArrays, c: int, regions: Array, needs: Array) -> Array:
    """[..., t, s]: elements of ``needs`` [..., t] that worker t takes from worker s, also from itself."""
    sizes = overlap_sizes(regions[c], needs[..., None, :, :])
    sizes *= source.picks[c]
    return sizes


class _Flow:
    """What the choices of one reader take from choice ``c`` of the source, and which of it returns a gradient."""

    def __init__(self, source: ChoiceArrays, c: int, regions: Array, of: _ReaderClasses, reader: OutputReader) -> None:
        self.sizes = _crossing_sizes(source, c, regions, of.needs)
        self.gradient = reader.gradient
        first = np.broadcast_to(of.firsts[:, :, None], self.sizes.shape)
        local = np.broadcast_to(np.eye(source.workers, dtype=bool), self.sizes.shape)
        # Of a source without replicas, the replica on its own worker returns the gradient if there is one.
        self.alone = np.where(_has_replica_on_source(of), local, first)
        self.first = first
        self.paired = _are_paired(source, c, self.sizes, of) if reader.gradient else np.ones(len(of.needs), bool)


def _has_replica_on_source(of: _ReaderClasses) -> Array:
    """[u, t, s]: True if worker s has a replica of what worker t computes."""
    return of.together


def _are_paired(source: ChoiceArrays, c: int, sizes: Array, of: _ReaderClasses) -> Array:
    """[u]: True if every replica of a class of the source is read once by each class of the reader that reads one."""
    # [u, t, s]: how many replicas of t's class read from s.
    counts = np.einsum("uta,uas->uts", of.together.astype(np.int64), (sizes > 0).astype(np.int64))
    leader = [
        int(np.flatnonzero(source.together[c, s])[0]) if source.together[c, s].any() else s
        for s in range(source.workers)
    ]
    return np.asarray((counts <= 1).all(axis=(1, 2)) & (counts == counts[:, :, leader]).all(axis=(1, 2)))


@dataclass(frozen=True)
class _Joint:
    """All readers of choice ``c`` of the source; ``common`` [u, v, t, s] are the elements that both of two need."""

    source: ChoiceArrays
    c: int
    regions: Array
    flows: list[_Flow]
    common: Array | None

    @property
    def replicated(self) -> bool:
        """True if the source has replicas."""
        return bool(self.source.replicated[self.c])

    @property
    def paired(self) -> Array:
        """[u] or [u, v]: True if no sum over replicas is needed."""
        first, *rest = (flow.paired for flow in self.flows)
        return first if not rest else first[:, None] & rest[0][None, :]

    def forward_sizes(self) -> Array:
        """[..., t, s]: elements that cross forward."""
        return self._union([np.ones_like(flow.sizes, bool) for flow in self.flows])

    def backward_sizes(self, muted: str) -> Array:
        """[..., t, s]: elements whose gradient returns; ``muted`` says which replicas return theirs."""
        flags = [np.ones_like(flow.sizes, bool) if muted == "" else getattr(flow, muted) for flow in self.flows]
        return self._union([flag & flow.gradient for flag, flow in zip(flags, self.flows, strict=True)])

    def _union(self, flags: Sequence[Array]) -> Array:
        """Elements that cross for the readers with a flag; a box within another crosses with that."""
        sizes = [flow.sizes for flow in self.flows]
        if self.common is None:
            return np.asarray(sizes[0] * flags[0])
        a, b = sizes[0][:, None], sizes[1][None, :]
        one, other = flags[0][:, None], flags[1][None, :]
        inside = (self.common == np.minimum(a, b)) & (self.common > 0)
        return np.asarray(np.where(inside, np.maximum(a, b) * (one | other), a * one + b * other))


def _price_flows(joint: _Joint, prices: LinkPrices, width: int) -> tuple[Array, Array, Array, Array]:
    """Seconds and bytes forward and backward, by the classes of the readers."""
    away = ~np.eye(joint.source.workers, dtype=bool)
    forward = joint.forward_sizes() * away * width
    backward = joint.backward_sizes("alone") * away * width
    sums = np.zeros(joint.paired.shape), np.zeros(joint.paired.shape)
    if joint.replicated and any(flow.gradient for flow in joint.flows):
        paired = joint.paired[..., None, None]
        backward = np.where(paired, joint.backward_sizes(""), joint.backward_sizes("first")) * away * width
        sums = tuple(np.where(joint.paired, 0.0, each) for each in _replica_sums(joint, prices, width))  # type: ignore[assignment]
    whole = box_sizes(joint.regions[joint.c]) * width
    addends = int(joint.source.addends[joint.c])
    return (
        _port_seconds(forward, whole, addends, prices), _port_seconds(backward, whole, addends, prices) + sums[0],
        _sent_bytes(forward, whole, addends), _sent_bytes(backward, whole, addends) + sums[1],
    )  # fmt: skip


def _sent_bytes(nbytes: Array, whole: Array, addends: int) -> Array:
    """[...]: all ``nbytes`` [..., t, s]; where every worker needs all of every addend, those of an all-reduce."""
    total = nbytes.sum(axis=(-1, -2))
    holders = int((whole > 0).sum())
    everything = ((nbytes > 0).sum(axis=(-1, -2)) == holders * (addends - 1)) & (
        nbytes.max(axis=(-1, -2)) == whole.max()
    )
    return np.asarray(np.where(everything & (holders == addends > 2), total * 2 / max(1, addends), total))


def _replica_sums(joint: _Joint, prices: LinkPrices, width: int) -> tuple[float, float]:
    """Seconds and bytes of the all-reduces of gradients over the replicas of the source."""
    sizes = box_sizes(joint.regions[joint.c]) * width
    seconds, sent = 0.0, 0.0
    for first in np.flatnonzero(joint.source.firsts[joint.c]):
        members = tuple(np.flatnonzero(joint.source.together[joint.c, first]).tolist())
        seconds = max(seconds, prices.sum_seconds(members, sizes[first]))
        sent += 2 * (len(members) - 1) * sizes[first]
    return seconds, sent


def _are_forwarded(some: Array) -> Array:
    """[...]: True if the messages ``some`` [..., t, s] are a collective: in each group of workers, all send to all
    others, or one sends to all others."""
    linked = some | np.eye(some.shape[-1], dtype=bool)
    # If what two messages link is linked by one, all of a group are.
    twice = linked.astype(np.float32) @ linked.astype(np.float32) > 0
    complete = (linked == linked.swapaxes(-1, -2)).all(axis=(-1, -2)) & (twice == linked).all(axis=(-1, -2))
    both_ways = (some.any(axis=-1) & some.any(axis=-2)).any(axis=-1)
    return np.asarray(complete | (~both_ways & (some.sum(axis=-1) <= 1).all(axis=-1)))


def _port_seconds(nbytes: Array, whole: Array, addends: int, prices: LinkPrices) -> Array:
    """[...]: seconds of the busiest port for ``nbytes`` [..., t, s], and the delay of a message.

    ``whole`` [s] are the bytes that each source holds, in ``addends`` addends.
    """
    some = nbytes > 0
    busy = nbytes * prices.seconds_per_byte + some * prices.overheads
    out, into = busy.sum(axis=-2), busy.sum(axis=-1)
    # All that is sent is the same: it may be forwarded, or be summed on its way back.
    same = (np.where(some, nbytes, whole) == whole).all(axis=-2) & _are_forwarded(some)[..., None]
    out = np.where(same, busy.max(axis=-2), out)
    if addends > 1:
        most = 2 * (addends - 1) / addends * nbytes.max(axis=(-1, -2)) * prices.seconds_per_byte.max()
        fewest = 2 * np.log2(addends) * prices.overheads.max()
        out = np.minimum(out, (most + fewest)[..., None])
        into = np.minimum(into, (most + fewest)[..., None])
    slowest = np.maximum(out.max(axis=-1), into.max(axis=-1))
    for crosses, seconds in prices.ports:
        through = nbytes * crosses
        # A region enters a host once, if it is the same for all; so does a sum of addends.
        load = np.where(same, through.max(axis=-2), through.sum(axis=-2)).sum(axis=-1)
        groups = (whole > 0).sum() / addends
        load = np.minimum(load, groups * through.max(axis=(-1, -2))) if addends > 1 else load
        slowest = np.maximum(slowest, load * seconds)
    return np.asarray(slowest + (some * prices.delays).max(axis=(-1, -2)))
