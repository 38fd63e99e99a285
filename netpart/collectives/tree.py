"""Binomial tree: fewest rounds for what starts at one place; through its root for what starts everywhere.

In the tree over places 0 to N - 1 the parent of i is i without its lowest bit, and the subtree of i are the places
up to i + that bit.
"""

from __future__ import annotations

from netpart.collectives.doubling import powers_of_two
from netpart.collectives.schedule import BlockMessage, Schedule


def tree_all_gather(n: int) -> Schedule:
    """Gives every place the block of every other: up to place 0, then down what each subtree lacks."""
    up = tuple(
        BlockMessage(i, i - bit, tuple(_subtree_places(i, bit, n)))
        for bit in powers_of_two(n)
        for i in range(bit, n, 2 * bit)
    )
    down = tuple(
        BlockMessage(i - bit, i, tuple(b for b in range(n) if b not in _subtree_places(i, bit, n)))
        for bit in reversed(powers_of_two(n))
        for i in range(bit, n, 2 * bit)
    )
    return up + down


def _subtree_places(i: int, bit: int, n: int) -> range:
    """The places of the subtree of ``i``, whose lowest bit is ``bit``."""
    return range(i, min(i + bit, n))


def tree_broadcast(n: int) -> Schedule:
    """Gives every place the block of place 0 in ⌈log2 N⌉ rounds."""
    return tuple(BlockMessage(i - bit, i, (0,)) for bit in reversed(powers_of_two(n)) for i in range(bit, n, 2 * bit))
