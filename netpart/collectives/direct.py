"""Direct algorithms: every block goes straight from its source to its destination, with N - 1 messages per place."""

from __future__ import annotations

from netpart.collectives.schedule import BlockMessage, BlockMessages


def direct_all_gather(n: int) -> BlockMessages:
    """All-gather: block i starts at place i; in round r it goes to place i + r."""
    # Shared, as n² messages of one block each would have as many tuples.
    alone = [(b,) for b in range(n)]
    # Round by round, not source by source: within a round every place sends one message and receives one.
    return tuple(BlockMessage(i, (i + r) % n, alone[i]) for r in range(1, n) for i in range(n))


def direct_broadcast(n: int) -> BlockMessages:
    """Broadcast: the block of place 0 goes to every other place."""
    return tuple(BlockMessage(0, i, (0,)) for i in range(1, n))


def direct_all_to_all(n: int) -> BlockMessages:
    """All-to-all: block i·n + j goes from place i to place j."""
    return tuple(BlockMessage(i, (i + r) % n, (i * n + (i + r) % n,)) for r in range(1, n) for i in range(n))


def swap_all_reduce() -> BlockMessages:
    """All-reduce of two: each place sends its own contribution and adds the other's."""
    # ``own``: the other's contribution may already have been added when this place's message is sent.
    return tuple(BlockMessage(i, 1 - i, (0,), add=True, own=True) for i in range(2))
