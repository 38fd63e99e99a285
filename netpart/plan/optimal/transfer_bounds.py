"""Transfer bounds: seconds that the messages of many combinations of choices take at least, all at once.

No schedule of messages beats the busiest port: what each worker has to send and to receive, and what crosses the ports
of hosts. Messages that may form a collective may be forwarded, or summed on their way, so each block leaves its source
once, or enters its target once. Exact prices (``transfer_prices.py``) are needed only where these bounds leave a doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netpart.plan.optimal.choice_arrays import Array, box_sizes
from netpart.plan.optimal.held_choice import HeldChoice
from netpart.plan.optimal.link_prices import LinkPrices


@dataclass(frozen=True)
class _BoundedRows:
    """Rows of messages: bytes [n, t, s], the number of messages [n, t, s], what each source holds in bytes [s], True
    where there are messages [n, t, s]."""

    nbytes: Array
    count: Array
    held: Array
    addends: bool
    some: Array

    @cached_property
    def groups(self) -> Array:
        """[n, w, w]: True for workers that messages connect."""
        found = (self.some | self.some.swapaxes(-1, -2) | np.eye(self.some.shape[-1], dtype=bool)).astype(np.float32)
        for _ in range(int(np.ceil(np.log2(found.shape[-1])))):
            found = (found @ found > 0).astype(np.float32)
        return np.asarray(found > 0)

    @cached_property
    def senders(self) -> Array:
        """[n, w]: True for workers that send."""
        return np.asarray(self.some.any(axis=-2))

    @cached_property
    def receivers(self) -> Array:
        """[n, w]: True for workers that receive."""
        return np.asarray(self.some.any(axis=-1))

    @cached_property
    def whole(self) -> Array:
        """[n, w]: True for workers of groups in which all that cross are whole regions of their sources."""
        return ~self._in_group(np.asarray((self.some & (self.nbytes != self.held)).any(axis=-1)))

    @cached_property
    def complete(self) -> Array:
        """[n, w]: True for workers of groups in which all that send do so to all that receive."""
        sends, gets = self.senders, self.receivers
        pairs = self.groups & gets[:, :, None] & sends[:, None, :] & ~np.eye(self.some.shape[-1], dtype=bool)
        return ~self._in_group(np.asarray((pairs & ~self.some).any(axis=-1)))

    def _in_group(self, flags: Array) -> Array:
        """[n, w]: True for workers with one in their group that has the flag."""
        return np.asarray((self.groups & flags[:, None, :]).any(axis=-1))

    @cached_property
    def forwarded(self) -> Array:
        """[n, w]: True for workers of groups whose blocks may be forwarded, or summed on their way."""
        return self.complete & (self.whole | self.addends)

    @cached_property
    def reduced(self) -> Array:
        """[n, w]: True for workers of groups with an all-reduce."""
        several = (self.groups & self.receivers[:, None, :]).sum(axis=-1) > 1
        return np.asarray(self.forwarded & self.whole & several & self.addends)


def bound_messages(held: HeldChoice, codes: Array, sums: Array, links: LinkPrices, width: int) -> Array:
    """[n, figure]: bounds of ``TransferPrice`` for the rows ``codes`` [n, part, t, s]; bytes are not bounded. Sums over
    replicas take ``sums`` [n] seconds."""
    away = ~np.eye(codes.shape[-1], dtype=bool)
    sizes = np.where(box_sizes(held.regions) * (held.arrays.classes[held.c] >= 0), box_sizes(held.regions), 0) * width
    addends = bool(held.arrays.addends[held.c] > 1)
    there = codes // 2 * away
    back = np.where(codes & 1, there, 0)
    ways = (
        _BoundedRows(
            each.sum(axis=1) * float(width), (each > 0).sum(axis=1), sizes, addends, np.asarray((each > 0).any(axis=1))
        )
        for each in (there, back)
    )
    forward, backward = (_way_seconds(each, links, axis) for each, axis in zip(ways, (-1, -2), strict=True))
    moved = (there + back).sum(axis=(1, 2, 3))
    zero = np.zeros(len(codes))
    return np.stack([forward, np.maximum(backward, sums), zero, zero, moved, zero], axis=-1)


def _way_seconds(rows: _BoundedRows, links: LinkPrices, receiving: int) -> Array:
    """[n]: seconds of the busiest port. The sum over the axis ``receiving`` is what a worker receives."""
    moving, starting = rows.nbytes * links.seconds_per_byte, rows.count * links.overheads
    sent = _forwarded_seconds(rows, moving, starting, -3 - receiving)
    got = [_forwarded_seconds(rows, moving * entry, starting * entry, receiving) for entry in links.entries]
    # Of an all-reduce, whatever its algorithm, some worker sends and receives as much as it holds.
    most = np.where(rows.reduced, (moving + starting).max(axis=-1), np.inf)
    slowest = np.max([np.minimum(each, most).max(axis=-1) for each in (sent, *got)], axis=0)
    for crosses, seconds in links.ports:
        slowest = np.maximum(slowest, _port_bytes(rows, rows.nbytes * crosses) * seconds)
    delays = np.where(rows.some, links.delays, np.inf).min(axis=(-1, -2))
    return np.asarray(np.where(rows.some.any(axis=(-1, -2)), slowest + delays, 0.0))


def _forwarded_seconds(rows: _BoundedRows, moving: Array, starting: Array, axis: int) -> Array:
    """[n, w]: seconds of the port of each worker. Blocks that are forwarded may come in one message, and of equal ones
    the first is enough."""
    fewest = moving.max(axis=axis) if axis == _shared_axis(rows) else moving.sum(axis=axis)
    return np.asarray(np.where(rows.forwarded, fewest + starting.max(axis=axis), (moving + starting).sum(axis=axis)))


def _shared_axis(rows: _BoundedRows) -> int:
    """The axis of messages of which one is enough: the targets of a source whose block is copied and whose gradients
    are summed on their way, or the sources of a target that gets a sum and returns copies of its gradient."""
    return -1 if rows.addends else -2


def _port_bytes(rows: _BoundedRows, through: Array) -> Array:
    """[n]: bytes that cross a port, of the bytes ``through`` [n, t, s] that would if all were sent one by one."""
    once = _shared_axis(rows)
    one_by_one, shared = through.sum(axis=once), through.max(axis=once)
    # A group whose addends are all-reduced crosses once; each of its workers here counts for a part of that.
    crossing = np.asarray((through > 0).any(axis=once))
    fellows = np.maximum(1, (rows.groups & crossing[:, None, :]).sum(axis=-1))
    each = np.where(rows.reduced, shared / fellows, np.where(rows.forwarded, shared, one_by_one))
    return np.asarray(each.sum(axis=-1))
