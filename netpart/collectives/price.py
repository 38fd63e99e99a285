"""The time that a schedule takes, by the LogGP model (Alexandrov et al., J. Parallel Distrib. Comput. 44, 1997).

A message occupies its sender for an overhead and for the transfer of its bytes, is in flight for a latency, and
occupies its receiver as long as its sender. The time of a schedule is its critical path: a place sends one message at a
time, receives one at a time, and forwards a block once it has it. A message of several blocks is packed before it is
sent and unpacked after it has arrived, which occupies both ends for longer. Messages that leave a host, or enter it,
share its port: each waits until those before it have passed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import NamedTuple

from netpart.choices import ALGORITHMS, DIRECT, HIERARCHICAL, NCCL
from netpart.collectives.kinds import ALL_REDUCE, ALL_TO_ALL, SWAP, collective_schedule, count_blocks
from netpart.collectives.network import LinkCost, Network, one_link_network
from netpart.collectives.rounds import RoundPlay
from netpart.collectives.schedule import BlockMessage, Schedule

__all__ = [
    "PACKING", "SWAPPED", "LinkCost", "PricedMessage", "arrival_times", "bytes_by_block", "cheapest_algorithm",
    "choose_algorithm", "schedule_seconds",
]  # fmt: skip

PACKING = 5e9
"""Bytes per second that a core copies within memory."""

SWAPPED = 1 << 20
"""The largest tensor in bytes that two members swap: beyond that, adding all of it on both sides costs more than a
second round."""


class PricedMessage(NamedTuple):
    """``nbytes`` from one worker to another. It leaves after the last message that has brought one of its ``blocks`` to
    its source. ``packing``: seconds that it takes each end to pack or unpack it."""

    source: int
    target: int
    nbytes: int
    blocks: tuple[Hashable, ...] = ()
    packing: float = 0.0


def schedule_seconds(
    schedule: Schedule, nbytes: Sequence[int], n: int, link: LinkCost | Network | None = None
) -> float:
    """Seconds until the last message of ``schedule`` over ``n`` places has arrived; block b has ``nbytes[b]`` bytes.

    ``link`` connects all places, or they are the workers of a network. Empty messages are not sent.
    """
    network = link if isinstance(link, Network) else one_link_network(n, link)
    if not network.hosts:
        play = RoundPlay(network, PACKING)
        play.play_schedule(schedule, nbytes, range(n))
        return float(play.arrivals.max(initial=0.0))
    return max(arrival_times([_price_message(m, nbytes) for m in schedule], network), default=0.0)


def _price_message(m: BlockMessage, nbytes: Sequence[int]) -> PricedMessage:
    """A message of a schedule with its bytes. What is a member's ``own`` waits for nothing."""
    load = sum(nbytes[b] for b in m.blocks)
    packing = load / PACKING if load > nbytes[m.blocks[0]] else 0.0
    return PricedMessage(m.source, m.target, load, () if m.own else m.blocks, packing)


def arrival_times(messages: Sequence[PricedMessage], network: Network) -> list[float]:
    """By worker, the seconds until its last message has arrived; 0 without one. Empty messages are not sent."""
    if not network.hosts:
        return _play_messages(messages, network)[1]
    # A port serves messages in the order in which they come. Those of a worker come in their order here, but not those
    # of several workers: without shared ports it is known when each would leave.
    starts, _ = _play_messages(messages, network)
    order = sorted(range(len(messages)), key=starts.__getitem__)
    return _play_messages([messages[i] for i in order], network, shared=True)[1]


def _play_messages(
    messages: Sequence[PricedMessage], network: Network, shared: bool = False
) -> tuple[list[float], list[float]]:
    """Seconds until each message leaves, and until each worker has its last one. With ``shared``, messages wait for the
    ports of hosts."""
    sending, arrivals = [0.0] * len(network), [0.0] * len(network)
    entries: dict[tuple[int, int], float] = {}
    free = [0.0] * (2 * len(network.hosts))
    has: dict[tuple[int, Hashable], float] = {}
    starts: list[float] = []
    for source, target, nbytes, blocks, packing in messages:
        starts.append(0.0)
        if nbytes:
            link, ports, entry = network.route(source, target)
            busy = link.overhead + nbytes / link.bandwidth + packing
            start = sending[source]
            for b in blocks:
                start = max(start, has.get((source, b), 0.0))
            starts[-1] = start
            sending[source] = start + busy
            # The first bytes go on while others follow: from port to port, and to the receiver.
            head, tail = start + packing + link.overhead, 0.0
            for port in ports:
                head = max(head, free[port]) if shared else head
                free[port] = head + nbytes / network.hosts[port // 2].bandwidth
                tail = max(tail, free[port])
            entered = max(head + link.latency, entries.get((target, entry), 0.0)) + busy
            entries[target, entry] = entered
            arrived = max(entered, tail + link.latency + link.overhead + packing) if tail else entered
            arrivals[target] = max(arrivals[target], arrived)
            for b in blocks:
                has[target, b] = max(arrived, has.get((target, b), 0.0))
    return starts, arrivals


def choose_algorithm(
    kind: str, n: int, nbytes: tuple[int, ...], wanted: str = "auto", network: Network | None = None
) -> str:
    """The algorithm for a collective of ``n`` members: ``wanted``, or with "auto" the fastest one.

    ``nbytes`` are the bytes of its blocks, or of the whole tensor if the algorithm decides how to cut it. ``network``
    is that of its members; without hosts it does not matter.
    """
    if kind == ALL_TO_ALL:
        return NCCL if wanted == NCCL else DIRECT
    if kind == ALL_REDUCE and n == 2 and wanted == "auto" and sum(nbytes) <= SWAPPED:
        return SWAP
    if wanted != "auto":
        return wanted
    return cheapest_algorithm(kind, n, nbytes, network if network and network.hosts else None)


@cache
def cheapest_algorithm(kind: str, n: int, nbytes: tuple[int, ...], network: Network | None = None) -> str:
    """The algorithm that takes the least time by ``schedule_seconds``."""
    # Without hosts HIERARCHICAL is DIRECT.
    able = ALGORITHMS if network else [each for each in ALGORITHMS if each != HIERARCHICAL]
    # Of equally fast ones, min takes the first in ALGORITHMS, so all processes choose alike.
    return min(
        able,
        key=lambda a: schedule_seconds(
            collective_schedule(kind, a, n, network.paths if network else ()),
            bytes_by_block(nbytes, count_blocks(kind, a, n)),
            n,
            network,
        ),
    )


def bytes_by_block(nbytes: tuple[int, ...], parts: int) -> tuple[int, ...]:
    """``nbytes`` itself if it has an entry for each of ``parts`` blocks, else one tensor's bytes cut into ``parts``."""
    if len(nbytes) == parts:
        return nbytes
    total = sum(nbytes)
    return tuple(total * (i + 1) // parts - total * i // parts for i in range(parts))
