"""Exchange: a collective with its algorithm chosen and its blocks cut.

Workers and ledger derive it from the same facts, so they agree without communication.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from netpart.choices import DIRECT, DOUBLING, HIERARCHICAL, NCCL, RING
from netpart.collectives import (
    Schedule,
    choose_algorithm,
    collective_schedule,
    count_blocks,
    cut_into_blocks,
    returned_messages,
)
from netpart.collectives.network import HostPath, Network
from netpart.program.place_roles import find_place_roles
from netpart.spec import Region, size

Blocks = tuple[Region | None, ...]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
KINDS_OF_MESSAGES = 16
"""Added or not, own or not, of several blocks or not, staying or not."""
KEPT = 4096
"""Exchanges that are kept for the other workers, and the passes, that ask for the same one."""
NO_MESSAGES = Schedule()


@dataclass(frozen=True)
class Exchange:
    """A collective of ``kind`` among ``members``, with its ``algorithm`` and ``blocks``.

    ``blocks`` are regions of the tensor that is moved, in its coordinates; None is an empty one. ``answer`` are the
    messages of a second exchange, which returns what was computed from the sums of this one. A member that sends one of
    them has read all that it received in this exchange. Every member waits for them before it starts this one again.
    ``paths`` are the hosts of the members, if the algorithm depends on these.
    """

    kind: str
    algorithm: str
    members: tuple[int, ...]
    blocks: Blocks
    answer: Schedule = NO_MESSAGES
    paths: tuple[HostPath, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Elements of each block."""
        return tuple(0 if b is None else size(b) for b in self.blocks)

    @cached_property
    def schedule(self) -> Schedule:
        """The messages; empty ones are not sent."""
        found = collective_schedule(self.kind, self.algorithm, len(self.members), self.paths)
        return found if all(self.sizes) else Schedule(m for m in found if any(self.sizes[b] for b in m.blocks))

    @property
    def messages(self) -> Schedule:
        """The messages that need a transport's memory while in flight; NCCL has its own."""
        return NO_MESSAGES if self.algorithm == NCCL else self.schedule

    @cached_property
    def staying(self) -> frozenset[int]:
        """Indices of the messages that may stay with their senders, as a later message proves that they were read."""
        return _find_staying(self.schedule, self.answer, len(self.messages))

    def elements(self, blocks: tuple[int, ...]) -> int:
        """Elements of a message with these blocks."""
        return sum(self.sizes[b] for b in blocks)

    def place(self, worker: int) -> int:
        """The place of a worker in the schedule."""
        return self._places[worker]

    @cached_property
    def _places(self) -> dict[int, int]:
        """The place of each member."""
        return {worker: place for place, worker in enumerate(self.members)}

    def receivers(self, worker: int) -> set[int]:
        """Workers that ``worker`` sends to."""
        return self._partners[self.place(worker)][0]

    def senders(self, worker: int) -> set[int]:
        """Workers that ``worker`` receives from."""
        return self._partners[self.place(worker)][1]

    @cached_property
    def _partners(self) -> list[tuple[set[int], set[int]]]:
        """By place, the workers that it sends to, and those that it receives from."""
        return _find_partners(self.schedule, self.members)

    @cached_property
    def messages_by_place(self) -> list[list[int]]:
        """By place, the indices of the messages that it sends or receives."""
        return _sort_messages(self.schedule, len(self.members))

    @cached_property
    def traffic(self) -> tuple[dict[int, int], dict[int, int]]:
        """Elements that each member sends, and that it receives, in all messages."""
        *ends, loads = self.message_table
        # As floats, which are exact: a step moves fewer than 2^53 elements.
        sums = (np.bincount(places, loads, len(self.members)).astype(int).tolist() for places in ends)
        sent, received = (dict(zip(self.members, of_place, strict=True)) for of_place in sums)
        return sent, received

    @property
    def message_table(self) -> tuple[Numbers, Numbers, Numbers]:
        """The place of the source, that of the target, and the elements of each message, in order."""
        sources, targets, blocks, carriers = _moved_blocks(self.schedule)
        sizes = np.array(self.sizes, np.float64)[blocks]
        return sources, targets, np.bincount(carriers, sizes, len(sources)).astype(np.int64)

    @cached_property
    def place_shapes(self) -> list[bytes]:
        """By place, all that its share of the collective depends on except its number: how many messages of each size
        it sends and receives, which of these are added, and which stay with their senders."""
        kinds, sources, targets = _message_kinds(self.schedule, self.answer, len(self.messages))
        *_, loads = self.message_table
        sizes, number = np.unique(loads, return_inverse=True)
        wide = KINDS_OF_MESSAGES * max(1, len(sizes))
        found = np.zeros((len(self.members), 2 * wide), np.int64)
        np.add.at(found, (sources, kinds * len(sizes) + number), 1)
        np.add.at(found, (targets, wide + kinds * len(sizes) + number), 1)
        return [sizes.tobytes() + b"|" + row.tobytes() for row in found]

    @cached_property
    def roles(self) -> tuple[int, ...]:
        """By place, its role: equal for places that may stand for each other, whatever the sizes of blocks."""
        # These are the same seen from every place, unless some blocks are empty.
        if self.algorithm in (RING, DOUBLING, DIRECT) and all(self.sizes):
            return (0,) * len(self.members)
        return find_place_roles(self.schedule, len(self.members))

    @cached_property
    def passes(self) -> frozenset[tuple[int, int]]:
        """(place, block) of every block that a place receives."""
        return frozenset((m.target, b) for m in self.schedule for b in m.blocks if self.sizes[b])

    @cached_property
    def largest(self) -> dict[int, int]:
        """Elements of the largest message of several blocks that each place sends."""
        found: dict[int, int] = {}
        for m in self.schedule:
            if sum(self.sizes[b] > 0 for b in m.blocks) > 1:
                found[m.source] = max(found.get(m.source, 0), self.elements(m.blocks))
        return found


# Exchanges of many sizes have one schedule. What follows from the schedule is kept once, as it has n² messages or more.
@lru_cache(maxsize=64)
def _find_partners(schedule: Schedule, members: tuple[int, ...]) -> list[tuple[set[int], set[int]]]:
    """By place, the workers that it sends to, and those that it receives from."""
    found: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in members]
    for m in schedule:
        found[m.source][0].add(members[m.target])
        found[m.target][1].add(members[m.source])
    return found


@lru_cache(maxsize=64)
def _sort_messages(schedule: Schedule, n: int) -> list[list[int]]:
    """By place, the indices of the messages that it sends or receives."""
    found: list[list[int]] = [[] for _ in range(n)]
    for index, m in enumerate(schedule):
        found[m.source].append(index)
        found[m.target].append(index)
    return found


@lru_cache(maxsize=64)
def _find_staying(schedule: Schedule, answer: Schedule, count: int) -> frozenset[int]:
    """The first ``count`` messages that may stay with their senders, where ``answer`` follows the schedule."""
    return frozenset(i for i in returned_messages(schedule + answer) if i < count)


@lru_cache(maxsize=64)
def _message_kinds(schedule: Schedule, answer: Schedule, count: int) -> tuple[Numbers, Numbers, Numbers]:
    """The kind, the source and the target of each message, in order. ``count`` as in ``_find_staying``."""
    staying = _find_staying(schedule, answer, count)
    found = [
        (m.add + 2 * m.own + 4 * (len(m.blocks) > 1) + 8 * (i in staying), m.source, m.target)
        for i, m in enumerate(schedule)
    ]
    kinds, sources, targets = np.array(found, np.int64).reshape(-1, 3).T.copy()
    return kinds, sources, targets


@lru_cache(maxsize=64)
def _moved_blocks(schedule: Schedule) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The source and the target of every message; every block that they carry, and the message that carries it."""
    sources, targets = np.array([(m.source, m.target) for m in schedule], np.int64).reshape(-1, 2).T.copy()
    carried = [(b, i) for i, m in enumerate(schedule) for b in m.blocks]
    blocks, carriers = np.array(carried, np.int64).reshape(-1, 2).T.copy()
    return sources, targets, blocks, carriers


@lru_cache(maxsize=KEPT)
def plan_exchange(
    kind: str, members: tuple[int, ...], region: Region, blocks: Blocks, wanted: str, itemsize: int,
    network: Network | None = None,
) -> Exchange:  # fmt: skip
    """Choose the algorithm of a collective of ``kind``; ``wanted`` is an algorithm or "auto", ``itemsize`` in bytes.

    ``network`` is that of all workers, if it has hosts. ``blocks`` are given for an all-gather, a reduce-scatter and an
    all-to-all. For the others they are (), and ``region`` is cut into as many blocks as the algorithm needs.
    """
    n = len(members)
    nbytes = tuple(0 if b is None else size(b) * itemsize for b in blocks) or (size(region) * itemsize,)
    network = network and network.part(members)
    algorithm = choose_algorithm(kind, n, nbytes, wanted, network)
    found = blocks or cut_into_blocks(region, count_blocks(kind, algorithm, n))
    paths = network.paths if network and algorithm == HIERARCHICAL else ()
    return Exchange(kind, algorithm, members, found, paths=paths)
