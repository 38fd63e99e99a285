"""Rounds: the messages of a schedule that do not wait for each other, so that all of a round are priced at once.

The algorithms of n members have about n rounds, of up to n messages each. A round is a few operations on arrays, which
give the same bits as the messages one by one (``price.py``): the same numbers are added in the same order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from netpart.collectives.network import Network, Numbers
from netpart.collectives.schedule import BlockMessage, Schedule

Floats = np.ndarray[Any, np.dtype[np.float64]]
Indices = np.ndarray[Any, np.dtype[np.int32]]
"""Of 32 bits, as the rounds of many members are kept."""


class MessageRound(NamedTuple):
    """Messages by place: each has another source and another target. ``blocks`` are those of all, one after another,
    ``starts`` where those of each message begin, and ``carriers`` the message of each block."""

    sources: Indices
    targets: Indices
    own: Indices
    blocks: Indices
    starts: Indices
    carriers: Indices


@lru_cache(maxsize=256)
def split_rounds(schedule: Schedule) -> tuple[MessageRound, ...]:
    """The rounds of ``schedule``, in order: each as long as its next message waits for none of it."""
    return tuple(_gather_round(messages) for messages in _independent_runs(schedule))


def _independent_runs(schedule: Schedule) -> Iterator[list[BlockMessage]]:
    """The messages of each round."""
    run: list[BlockMessage] = []
    sources, targets, came = set[int](), set[int](), set[tuple[int, int]]()
    for m in schedule:
        waits = not came.isdisjoint((m.source, b) for b in m.blocks)
        if m.source in sources or m.target in targets or waits:
            yield run
            run, sources, targets, came = [], set(), set(), set()
        run.append(m)
        sources.add(m.source)
        targets.add(m.target)
        came.update((m.target, b) for b in m.blocks)
    if run:
        yield run


def _gather_round(messages: Sequence[BlockMessage]) -> MessageRound:
    """The arrays of one round."""
    counts = [len(m.blocks) for m in messages]
    columns = (
        [m.source for m in messages],
        [m.target for m in messages],
        [m.own for m in messages],
        list(chain.from_iterable(m.blocks for m in messages)),
        [0, *accumulate(counts[:-1])],
        np.repeat(np.arange(len(messages)), counts),
    )
    return MessageRound(*(np.array(column, np.int32) for column in columns))


class RoundPlay:
    """The clock of a network without hosts: when each worker has sent, and when what it receives has come.

    ``arrivals`` are, by worker, the seconds until the last message to it has arrived. ``packing`` is the speed of
    packing several blocks, in bytes per second.
    """

    def __init__(self, network: Network, packing: float) -> None:
        self.network = network
        self.packing = packing
        self.sending = np.zeros(len(network))
        self.entries = np.zeros((len(network), 1 + len(network.links)))
        self.arrivals = np.zeros(len(network))
        self.has: dict[Hashable, Floats] = {}

    def play_message(self, source: int, target: int, nbytes: int) -> None:
        """Send a message of ``nbytes`` that waits for no block, after what was played before: ``_play_round`` of one
        message, to the same bits."""
        if not nbytes:
            return
        link, _, entry = self.network.route(source, target)
        busy = link.overhead + nbytes / link.bandwidth
        start = self.sending[source]
        arrived = max(start + link.overhead + link.latency, self.entries[target, entry]) + busy
        self.sending[source] = start + busy
        self.entries[target, entry] = arrived
        self.arrivals[target] = max(self.arrivals[target], arrived)

    def play_schedule(
        self, schedule: Schedule, nbytes: Sequence[int], members: Sequence[int], tensor: Hashable = None
    ) -> None:
        """Send the messages of ``schedule`` after what was played before; block b has ``nbytes[b]`` bytes.

        ``members`` are the workers of its places. A block waits for itself in earlier schedules of the same ``tensor``.
        """
        workers = np.array(members, np.int64)
        sizes = np.array(nbytes, np.float64)
        has = self.has.setdefault(tensor, np.zeros((len(self.network), len(nbytes))))
        for each in split_rounds(schedule):
            self._play_round(each, workers[each.sources], workers[each.targets], sizes, has)

    def _play_round(self, each: MessageRound, sources: Numbers, targets: Numbers, sizes: Floats, has: Floats) -> None:
        """Send the messages of one round. Empty ones are not sent."""
        loads = np.add.reduceat(sizes[each.blocks], each.starts)
        overhead, bandwidth, latency, entry = self.network.find_pair_costs(sources, targets)
        packing = np.where(loads > sizes[each.blocks[each.starts]], loads / self.packing, 0.0)
        busy = overhead + loads / bandwidth + packing
        ready = np.maximum.reduceat(has[sources[each.carriers], each.blocks], each.starts)
        start = np.maximum(self.sending[sources], np.where(each.own, 0.0, ready))
        # Transfer and reception overlap: the receiver starts when the first bytes arrive, not the last.
        arrived = np.maximum(start + packing + overhead + latency, self.entries[targets, entry]) + busy
        sent = loads > 0
        self.sending[sources[sent]] = (start + busy)[sent]
        self.entries[targets[sent], entry[sent]] = arrived[sent]
        self.arrivals[targets[sent]] = np.maximum(self.arrivals[targets], arrived)[sent]
        moved = sent[each.carriers] & ~each.own.astype(bool)[each.carriers]
        places = targets[each.carriers][moved], each.blocks[moved]
        has[places] = np.maximum(has[places], arrived[each.carriers][moved])
