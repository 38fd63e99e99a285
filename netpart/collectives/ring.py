"""Ring algorithms: every place forwards to its right what it received from its left, in N - 1 rounds on all links.

All-gather of 3 members; each column is a round, ``c>`` a block sent to the right:

    place 0     0>  2>
    place 1     1>  0>
    place 2     2>  1>
"""

from __future__ import annotations

from netpart.collectives.schedule import BlockMessage, BlockMessages


def ring_all_gather(n: int) -> BlockMessages:
    """All-gather: block i starts at place i."""
    # Shared, as n² messages of one block each would have as many tuples.
    alone = [(b,) for b in range(n)]
    return tuple(BlockMessage(i, (i + 1) % n, alone[(i - r) % n]) for r in range(n - 1) for i in range(n))


def ring_broadcast(n: int) -> BlockMessages:
    """Broadcast: the n blocks of place 0 follow each other along the chain of places as in a pipeline."""
    # Block b leaves place i in round b + i: the last one, n - 1, leaves place n - 2 in round 2n - 3.
    rounds = range(2 * n - 2)
    return tuple(BlockMessage(i, i + 1, (r - i,)) for r in rounds for i in range(n - 1) if 0 <= r - i < n)
