"""Direct: every block goes straight from where it is to where it is wanted. One round, N - 1 messages a place."""

from __future__ import annotations

from netpart.collectives.schedule import Message, Schedule


def gather(n: int) -> Schedule:
    """Gives every place the block of every other: block i starts at place i; in round r it goes to i + r."""
    return tuple(Message(i, (i + r) % n, (i,)) for r in range(1, n) for i in range(n))


def broadcast(n: int) -> Schedule:
    """Gives every place the block of place 0."""
    return tuple(Message(0, i, (0,)) for i in range(1, n))


def exchange(n: int) -> Schedule:
    """All-to-all: block i·n + j goes from place i to place j."""
    return tuple(Message(i, (i + r) % n, (i * n + (i + r) % n,)) for r in range(1, n) for i in range(n))


def swap() -> Schedule:
    """All-reduce of two: each gives the other what it brought, and adds what it gets."""
    return tuple(Message(i, 1 - i, (0,), add=True, own=True) for i in range(2))
