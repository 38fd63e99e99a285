"""Direct: every block goes straight from where it is to where it is wanted. One round, N - 1 messages a place."""

from __future__ import annotations

from netpart.collectives.schedule import BlockMessage, Schedule


def direct_all_gather(n: int) -> Schedule:
    """Gives every place the block of every other: block i starts at place i; in round r it goes to i + r."""
    return tuple(BlockMessage(i, (i + r) % n, (i,)) for r in range(1, n) for i in range(n))


def direct_broadcast(n: int) -> Schedule:
    """Gives every place the block of place 0."""
    return tuple(BlockMessage(0, i, (0,)) for i in range(1, n))


def direct_all_to_all(n: int) -> Schedule:
    """All-to-all: block i·n + j goes from place i to place j."""
    return tuple(BlockMessage(i, (i + r) % n, (i * n + (i + r) % n,)) for r in range(1, n) for i in range(n))


def swap_all_reduce() -> Schedule:
    """All-reduce of two: each gives the other what it brought, and adds what it gets."""
    return tuple(BlockMessage(i, 1 - i, (0,), add=True, own=True) for i in range(2))
