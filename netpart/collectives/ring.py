"""Ring collectives: each member sends to its right neighbour and receives from its left one.

The array of n elements is cut into N chunks. Chunk c sets out from member c + 1, gathers an addend at
each member it meets and is whole at member c (reduce-scatter); then it goes round once more (all-gather).
Chunks of 3 members, `c>` sent and `>c` received in one step, and the chunk a member holds whole:

    member     reduce-scatter          whole    all-gather
    0          2> >1     1> >0         0        0> >2     2> >1
    1          0> >2     2> >1         1        1> >0     0> >2
    2          1> >0     0> >2         2        2> >1     1> >0

Both are one pattern, the first one chunk behind the second. The sum of chunk c is always formed in the
order c + 1, c + 2, …, c, by one member at a time, so all members end bit-identical.
N members send 2 (N - 1) n elements in total for an all-reduce, half of it for either phase alone, also
if N does not divide n (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One member's part of one round: half-open ranges of the flat array; an empty range is no message."""

    send_to: int
    send: Range
    receive_from: int
    receive: Range
    add: bool


Schedule = dict[int, tuple[Step, ...]]
"""The steps of each member; the index of a step is the tag of its message, at sender and receiver."""


def all_reduce(members: tuple[int, ...], n: int) -> Schedule:
    """Schedules the sum of an array of ``n`` elements over ``members`` in ring order: 2 (N - 1) steps each.

    Raises ValueError for repeated members, none, or a negative ``n``.
    """
    first, second = reduce_scatter(members, n), all_gather(members, n)
    return {member: first[member] + second[member] for member in members}


def reduce_scatter(members: tuple[int, ...], n: int) -> Schedule:
    """Schedules N - 1 steps after which the i-th member holds the sum of the i-th of ``chunks``."""
    return _ring(members, n, behind=1, add=True)


def all_gather(members: tuple[int, ...], n: int) -> Schedule:
    """Schedules N - 1 steps that give every member the i-th of ``chunks`` of the i-th member."""
    return _ring(members, n, behind=0, add=False)


def chunks(n: int, parts: int) -> tuple[Range, ...]:
    """Cuts ``n`` elements into ``parts`` ranges whose sizes differ by at most 1 (empty ones if n < parts)."""
    return tuple((n * i // parts, n * (i + 1) // parts) for i in range(parts))


def volume(schedule: Schedule) -> int:
    """Counts the elements that all members together send."""
    return sum(step.send[1] - step.send[0] for steps in schedule.values() for step in steps)


def _ring(members: tuple[int, ...], n: int, behind: int, add: bool) -> Schedule:
    size = len(members)
    if size == 0 or len(set(members)) < size or n < 0:
        raise ValueError(f"ring: expected distinct members and n >= 0, got members {members} and n {n}")
    chunk = chunks(n, size)

    def steps(at: int) -> tuple[Step, ...]:
        right, left = members[(at + 1) % size], members[at - 1]
        order = [chunk[(at - behind - i) % size] for i in range(size)]
        return tuple(Step(right, sent, left, received, add) for sent, received in pairwise(order))

    return {member: steps(at) for at, member in enumerate(members)}
