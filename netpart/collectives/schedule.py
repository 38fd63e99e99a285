"""Schedules as values: the messages of a collective, in an order that cannot deadlock.

A collective moves *blocks*, the pieces of one tensor, between members, which are numbered here by their places 0 to
N - 1. In every schedule of this package a block reaches a place once, and the place forwards it only afterwards. So
each block travels along a tree. The reversed schedule, with sums in place of copies, collects the contributions
(addends) to each block along the same tree:

    broadcast ◀── reversed ──▶ reduce          all-gather ◀── reversed ──▶ reduce-scatter

An all-reduce is one of each: a sum, then its distribution. The bytes that all members send together are therefore the
same for every algorithm: (N - 1)|T| for a tensor T, 2(N - 1)|T| for an all-reduce (Patarasuk and Yuan, J. Parallel
Distrib. Comput. 69, 2009). An all-reduce of two may also be a swap: each member adds the other's contribution, which
moves the same bytes in one round.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple


class BlockMessage(NamedTuple):
    """Blocks that go from one place to another; ``add``: the target adds them to its own.

    ``own``: they are the source's original contribution, without what has been added to it since.
    """

    source: int
    target: int
    blocks: tuple[int, ...]
    add: bool = False
    own: bool = False


BlockMessages = tuple[BlockMessage, ...]
"""Messages in an order in which they may be sent one after another; a message is named by its index."""


class Schedule(BlockMessages):
    """The messages of a collective. Its hash is kept: caches ask for it again and again, and it reads n² messages or
    more."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=256)
def returned_messages(schedule: BlockMessages) -> frozenset[int]:
    """Indices of the messages that carry one addend of a block that later comes back over the same link.

    The block comes back as the sum, or as a value computed from it. That proves to the sender that its addend has been
    read: only then may it change the addend. As a block travels up a tree and down again, this holds for every
    single-block message with an addend in an all-reduce, except in a swap.
    """
    # BlockMessages of several blocks are excluded: they are packed into a copy, so their addends may change at once.
    back = {(m.target, m.source, b) for m in schedule if not m.add for b in m.blocks}
    addends = {i: m for i, m in enumerate(schedule) if m.add and not m.own and len(m.blocks) == 1}
    return frozenset(i for i, m in addends.items() if (m.source, m.target, m.blocks[0]) in back)


def reverse_schedule(schedule: BlockMessages) -> BlockMessages:
    """The schedule that sums the blocks that ``schedule`` distributes."""
    return tuple(BlockMessage(m.target, m.source, m.blocks, True) for m in reversed(schedule))
