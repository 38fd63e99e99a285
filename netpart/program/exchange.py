"""Exchange: a collective with its algorithm chosen and its blocks cut.

Workers and ledger derive it from the same facts, so they agree without communication.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netpart.choices import HIERARCHICAL, NCCL
from netpart.collectives import (
    Schedule,
    choose_algorithm,
    collective_schedule,
    count_blocks,
    cut_into_blocks,
    returned_messages,
)
from netpart.collectives.network import HostPath, Network
from netpart.spec import Region, size

Blocks = tuple[Region | None, ...]


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
    answer: Schedule = ()
    paths: tuple[HostPath, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Elements of each block."""
        return tuple(0 if b is None else size(b) for b in self.blocks)

    @cached_property
    def schedule(self) -> Schedule:
        """The messages; empty ones are not sent."""
        found = collective_schedule(self.kind, self.algorithm, len(self.members), self.paths)
        return found if all(self.sizes) else tuple(m for m in found if any(self.sizes[b] for b in m.blocks))

    @property
    def messages(self) -> Schedule:
        """The messages that need a transport's memory while in flight; NCCL has its own."""
        return () if self.algorithm == NCCL else self.schedule

    @cached_property
    def staying(self) -> frozenset[int]:
        """Indices of the messages that may stay with their senders, as a later message proves that they were read."""
        return frozenset(i for i in returned_messages(self.schedule + self.answer) if i < len(self.messages))

    def elements(self, blocks: tuple[int, ...]) -> int:
        """Elements of a message with these blocks."""
        return sum(self.sizes[b] for b in blocks)

    def place(self, worker: int) -> int:
        """The place of a worker in the schedule."""
        return self.members.index(worker)

    def receivers(self, worker: int) -> set[int]:
        """Workers that ``worker`` sends to."""
        place = self.place(worker)
        return {self.members[m.target] for m in self.schedule if m.source == place}

    def senders(self, worker: int) -> set[int]:
        """Workers that ``worker`` receives from."""
        place = self.place(worker)
        return {self.members[m.source] for m in self.schedule if m.target == place}

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


def plan_exchange(
    kind: str, members: tuple[int, ...], region: Region, blocks: Blocks, wanted: str, itemsize: int,
    network: Network | None = None,
) -> Exchange:  # fmt: skip
    """Choose the algorithm of a collective of ``kind``; ``wanted`` is an algorithm or "auto", ``itemsize`` in bytes.

    ``network`` is that of all workers, if it has hosts. ``blocks`` are given for an all-gather, a reduce-scatter and an all-to-all. For the others they are (), and
    ``region`` is cut into as many blocks as the algorithm needs.
    """
    n = len(members)
    nbytes = tuple(0 if b is None else size(b) * itemsize for b in blocks) or (size(region) * itemsize,)
    network = network and network.part(members)
    algorithm = choose_algorithm(kind, n, nbytes, wanted, network)
    found = blocks or cut_into_blocks(region, count_blocks(kind, algorithm, n))
    paths = network.paths if network and algorithm == HIERARCHICAL else ()
    return Exchange(kind, algorithm, members, found, paths=paths)
