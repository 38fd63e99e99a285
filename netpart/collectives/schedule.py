"""Schedules as values: who sends which blocks to whom, in an order that plays out without waiting in circles.

A collective moves *blocks*, the pieces of one tensor, between members, which are known here by their places
0 to N - 1. In every schedule of this package a block reaches a place once, and a place passes it on afterwards. So
each block travels along a tree, and the schedule read backwards, with sums where there were copies, gathers the addends
of each block along the same tree:

    broadcast ◀── reversed ──▶ reduce          all-gather ◀── reversed ──▶ reduce-scatter

and an all-reduce is one of each. The bytes that all members send together are therefore the same for every algorithm:
(N - 1)|T| of a tensor T, 2(N - 1)|T| for an all-reduce (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009).
An all-reduce of two may also be a swap: each adds what the other brought, which are the same bytes in one round.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class BlockMessage(NamedTuple):
    """Blocks that go from one place to another; ``add``: they are added to what the target has.

    With ``own`` they are what the source brought itself, whatever has been added to it since.
    """

    source: int
    target: int
    blocks: tuple[int, ...]
    add: bool = False
    own: bool = False


Schedule = tuple[BlockMessage, ...]
"""Messages in an order in which they may be sent one after another; a message is known by its place in it."""


@lru_cache(maxsize=256)
def returned_messages(schedule: Schedule) -> frozenset[int]:
    """The messages that bring one addend, of a block that later comes back the same way: as their sum, or made of it.

    What comes back says that the addend has been added: its sender may change it only then. As a block travels up a
    tree and down again, that is every such message of an all-reduce but a swap.
    """
    back = {(m.target, m.source, b) for m in schedule if not m.add for b in m.blocks}
    addends = {i: m for i, m in enumerate(schedule) if m.add and not m.own and len(m.blocks) == 1}
    return frozenset(i for i, m in addends.items() if (m.source, m.target, m.blocks[0]) in back)


def reverse_schedule(schedule: Schedule) -> Schedule:
    """The schedule that sums up what ``schedule`` spreads."""
    return tuple(BlockMessage(m.target, m.source, m.blocks, True) for m in reversed(schedule))
