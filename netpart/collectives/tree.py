"""Binomial tree: fewest rounds for what starts at one place; through its root for what starts everywhere.

In the tree over places 0 to N - 1 the parent of i is i without its lowest bit, and the subtree of i are the places
up to i + that bit.
"""

from __future__ import annotations

from netpart.collectives.doubling import powers
from netpart.collectives.schedule import Message, Schedule


def gather(n: int) -> Schedule:
    """Gives every place the block of every other: up to place 0, then down what each subtree lacks."""
    up = tuple(Message(i, i - bit, tuple(_below(i, bit, n))) for bit in powers(n) for i in range(bit, n, 2 * bit))
    down = tuple(
        Message(i - bit, i, tuple(b for b in range(n) if b not in _below(i, bit, n)))
        for bit in reversed(powers(n))
        for i in range(bit, n, 2 * bit)
    )
    return up + down


def _below(i: int, bit: int, n: int) -> range:
    """The places of the subtree of ``i``, whose lowest bit is ``bit``."""
    return range(i, min(i + bit, n))


def broadcast(n: int) -> Schedule:
    """Gives every place the block of place 0 in ⌈log2 N⌉ rounds."""
    return tuple(Message(i - bit, i, (0,)) for bit in reversed(powers(n)) for i in range(bit, n, 2 * bit))
