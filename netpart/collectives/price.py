"""The time that a schedule takes, by the LogGP model (Alexandrov et al., J. Parallel Distrib. Comput. 44, 1997).

A message occupies its sender for an overhead and for the transfer of its bytes, is in flight for a latency, and
occupies its receiver as long as its sender. The time of a schedule is its critical path: a place sends one message at a
time, receives one at a time, and forwards a block once it has it. A message of several blocks is packed before it is
sent and unpacked after it has arrived, which occupies both ends for longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from netpart.choices import ALGORITHMS, DIRECT, NCCL
from netpart.collectives.kinds import ALL_REDUCE, ALL_TO_ALL, SWAP, collective_schedule, count_blocks
from netpart.collectives.schedule import Schedule

PACKING = 5e9
"""Bytes per second that a core copies within memory."""

SWAPPED = 1 << 20
"""The largest tensor in bytes that two members swap: beyond that, adding all of it on both sides costs more than a
second round."""


@dataclass(frozen=True)
class LinkCost:
    """``latency``: seconds in flight; ``overhead``: seconds at either end; ``bandwidth``: bytes per second.

    The defaults are round numbers for two processes of one host over ZeroMQ (``make bench-bridges``). Only their
    proportions matter for the choice of an algorithm.
    """

    latency: float = 40e-6
    overhead: float = 10e-6
    bandwidth: float = 1e9


def schedule_seconds(schedule: Schedule, nbytes: Sequence[int], n: int, link: LinkCost | None = None) -> float:
    """Seconds until the last message of ``schedule`` over ``n`` places has arrived; block b has ``nbytes[b]`` bytes.

    Empty messages are not sent.
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
            # Transfer and reception overlap: the receiver starts when the first bytes arrive, not the last.
            arrived = max(start + packing + link.overhead + link.latency, receiving[m.target]) + busy
            receiving[m.target] = arrived
            has.update({(m.target, b): arrived for b in m.blocks})
    return max(receiving, default=0.0)


def choose_algorithm(kind: str, n: int, nbytes: tuple[int, ...], wanted: str = "auto") -> str:
    """The algorithm for a collective of ``n`` members: ``wanted``, or with "auto" the fastest one.

    ``nbytes`` are the bytes of its blocks, or of the whole tensor if the algorithm decides how to cut it.
    """
    if kind == ALL_TO_ALL:
        return NCCL if wanted == NCCL else DIRECT
    if kind == ALL_REDUCE and n == 2 and wanted == "auto" and sum(nbytes) <= SWAPPED:
        return SWAP
    return cheapest_algorithm(kind, n, nbytes) if wanted == "auto" else wanted


@cache
def cheapest_algorithm(kind: str, n: int, nbytes: tuple[int, ...]) -> str:
    """The algorithm that takes the least time by ``schedule_seconds``."""
    # Of equally fast ones, min takes the first in ALGORITHMS, so all processes choose alike.
    return min(
        ALGORITHMS,
        key=lambda a: schedule_seconds(
            collective_schedule(kind, a, n), bytes_by_block(nbytes, count_blocks(kind, a, n)), n
        ),
    )


def bytes_by_block(nbytes: tuple[int, ...], parts: int) -> tuple[int, ...]:
    """``nbytes`` itself if it has an entry for each of ``parts`` blocks, else one tensor's bytes cut into ``parts``."""
    if len(nbytes) == parts:
        return nbytes
    total = sum(nbytes)
    return tuple(total * (i + 1) // parts - total * i // parts for i in range(parts))
