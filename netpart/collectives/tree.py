"""Binomial tree algorithms: the fewest rounds for a broadcast; an all-gather goes up to the root and down again.

In the tree over places 0 to N - 1 the parent of i is i without its lowest set bit. The subtree of i consists of the
places from i to below i + that bit.
"""

from __future__ import annotations

from netpart.collectives.doubling import powers_of_two
from netpart.collectives.schedule import BlockMessage, BlockMessages


def tree_all_gather(n: int) -> BlockMessages:
    """All-gather: all blocks go up to place 0, then each subtree receives the blocks that it lacks."""
    up = tuple(
        BlockMessage(i, i - bit, tuple(_subtree_places(i, bit, n)))
        for bit in powers_of_two(n)
        for i in range(bit, n, 2 * bit)
    )
    # From the highest bit down, a parent has received its blocks before it forwards them to its subtrees.
    down = tuple(
        BlockMessage(i - bit, i, tuple(b for b in range(n) if b not in _subtree_places(i, bit, n)))
        for bit in reversed(powers_of_two(n))
        for i in range(bit, n, 2 * bit)
    )
    return up + down


def _subtree_places(i: int, bit: int, n: int) -> range:
    """The places of the subtree of ``i``, whose lowest bit is ``bit``."""
    return range(i, min(i + bit, n))


def tree_broadcast(n: int) -> BlockMessages:
    """Broadcast: the block of place 0 reaches every place in ⌈log2 N⌉ rounds."""
    return tuple(BlockMessage(i - bit, i, (0,)) for bit in reversed(powers_of_two(n)) for i in range(bit, n, 2 * bit))
