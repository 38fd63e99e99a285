"""What a schedule takes, by the LogGP model (Alexandrov et al., J. Parallel Distrib. Comput. 44, 1997).

A message keeps its sender busy for an overhead and its bytes, is on its way for a latency, and keeps its receiver busy
as long as its sender. The time of a schedule is the longest way through it: a place sends one message after another,
receives one after another, and passes a block on when it has it. A message of several blocks is packed before it is
sent, and unpacked when it has come, which keeps either end busy for longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from netpart.choices import ALGORITHMS, DIRECT, NCCL
from netpart.collectives.kinds import ALL_REDUCE, ALL_TO_ALL, SWAP, collective_schedule, count_blocks
from netpart.collectives.schedule import Schedule

PACKING = 5e9
"""Bytes a second that a core copies from one place in memory to another."""

SWAPPED = 1 << 20
"""Bytes up to which two members swap: beyond, adding all of it twice costs more than a second round."""


@dataclass(frozen=True)
class LinkCost:
    """Seconds that a message is on its way, seconds that it keeps either end busy, and bytes a second.

    The defaults are those of two processes of one host over ZeroMQ, in round numbers (``make bench-bridges``); only
    their proportions matter for a choice.
    """

    latency: float = 40e-6
    overhead: float = 10e-6
    bandwidth: float = 1e9


def schedule_seconds(schedule: Schedule, nbytes: Sequence[int], n: int, link: LinkCost | None = None) -> float:
    """Time until the last message of ``schedule`` over ``n`` places has arrived; block b has ``nbytes[b]`` bytes.

    A message that would be empty is not sent.
    """
    link = link or LinkCost()
    sending = [0.0] * n
    receiving = [0.0] * n
    has: dict[tuple[int, int], float] = {}
    for m in schedule:
        load = sum(nbytes[b] for b in m.blocks)
        if load:
            packing = load / PACKING if load > nbytes[m.blocks[0]] else 0.0
            busy = link.overhead + load / link.bandwidth + packing
            ready = () if m.own else (has.get((m.source, b), 0.0) for b in m.blocks)
            start = max([sending[m.source], *ready])
            sending[m.source] = start + busy
            arrived = max(start + packing + link.overhead + link.latency, receiving[m.target]) + busy
            receiving[m.target] = arrived
            has.update({(m.target, b): arrived for b in m.blocks})
    return max(receiving, default=0.0)


def choose_algorithm(kind: str, n: int, nbytes: tuple[int, ...], wanted: str = "auto") -> str:
    """The algorithm for a collective of ``n`` members: ``wanted``, or with "auto" the one that takes least time.

    ``nbytes`` are those of its blocks, or of the whole tensor where the algorithm cuts it itself.
    """
    if kind == ALL_TO_ALL:
        return NCCL if wanted == NCCL else DIRECT
    if kind == ALL_REDUCE and n == 2 and wanted == "auto" and sum(nbytes) <= SWAPPED:
        return SWAP
    return cheapest_algorithm(kind, n, nbytes) if wanted == "auto" else wanted


@cache
def cheapest_algorithm(kind: str, n: int, nbytes: tuple[int, ...]) -> str:
    """The algorithm that takes least time."""
    return min(
        ALGORITHMS,
        key=lambda a: schedule_seconds(
            collective_schedule(kind, a, n), bytes_by_block(nbytes, count_blocks(kind, a, n)), n
        ),
    )


def bytes_by_block(nbytes: tuple[int, ...], parts: int) -> tuple[int, ...]:
    """``nbytes`` as they are, or those of one tensor cut into ``parts``."""
    if len(nbytes) == parts:
        return nbytes
    total = sum(nbytes)
    return tuple(total * (i + 1) // parts - total * i // parts for i in range(parts))
