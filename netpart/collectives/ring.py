"""Ring: every place passes to its right what it got from its left. N - 1 rounds, every link equally busy.

All-gather of 3 members; each column is a round, ``c>`` a block sent to the right:

    place 0     0>  2>
    place 1     1>  0>
    place 2     2>  1>
"""

from __future__ import annotations

from netpart.collectives.schedule import BlockMessage, Schedule


def ring_all_gather(n: int) -> Schedule:
    """Gives every place the block of every other: block i starts at place i."""
    return tuple(BlockMessage(i, (i + 1) % n, ((i - r) % n,)) for r in range(n - 1) for i in range(n))


def ring_broadcast(n: int) -> Schedule:
    """Gives every place all blocks of place 0, one block behind the other: the chain is a pipeline of n blocks."""
    rounds = range(2 * n - 2)
    return tuple(BlockMessage(i, i + 1, (r - i,)) for r in rounds for i in range(n - 1) if 0 <= r - i < n)
