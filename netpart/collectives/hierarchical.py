"""Hierarchical algorithms: a block enters each host once, and is passed on inside it.

All-gather of two hosts of two members. Member i has block i; places with the same number within their hosts exchange
blocks first:

    host a   place 0 ──0──▶ place 2   host b         then inside: 0 and 1 exchange all that they have, and so do 2 and 3
             place 1 ──1──▶ place 3

Reversed, sums are formed inside the hosts first, and one addend per host crosses its port. For racks of hosts the same
rule holds at each level: what enters a rack enters one of its hosts, which passes it on to the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netpart.collectives.network import HostPath
from netpart.collectives.schedule import BlockMessage, BlockMessages


class _Hop(NamedTuple):
    """A message and what it is sorted by: the level of hosts that it crosses, the outermost first; whether its source
    has received the block at a level further out; and the distance, so that in a round each place sends one message."""

    level: int
    received: bool
    round: int
    message: BlockMessage


def hierarchical_all_gather(n: int, paths: Sequence[HostPath]) -> BlockMessages:
    """All-gather: block i starts at place i. ``paths`` are the hosts of each place; () if they are in none."""
    return _sort_hops(hop for i in range(n) for hop in _spread_block(i, i, range(n), paths or [()] * n))


def hierarchical_broadcast(n: int, paths: Sequence[HostPath]) -> BlockMessages:
    """Broadcast: the block of place 0 goes to one place of each other host, and from there to the others."""
    return _sort_hops(_spread_block(0, 0, range(n), paths or [()] * n))


def _spread_block(
    block: int, owner: int, places: Sequence[int], paths: Sequence[HostPath], level: int = 0, received: bool = False
) -> Iterator[_Hop]:
    """The messages that bring ``block`` from its ``owner`` to all ``places``, which share ``level`` hosts."""
    hosts = _places_by_host(places, paths, level)
    own = next(i for i, host in enumerate(hosts) if owner in host)
    for i, host in enumerate(hosts):
        # Blocks enter a host at all of its places in turn, so that these share the work.
        enters = owner if i == own else host[block % len(host)]
        if i != own:
            yield _Hop(level, received, (i - own) % len(hosts), BlockMessage(owner, enters, (block,)))
        if len(host) > 1:
            yield from _spread_block(block, enters, host, paths, level + 1, received or i != own)


def _places_by_host(places: Sequence[int], paths: Sequence[HostPath], level: int) -> list[list[int]]:
    """The places by their host at ``level``; a place that is in no host there is alone."""
    found: dict[tuple[bool, int], list[int]] = {}
    for place in places:
        inside = len(paths[place]) > level
        found.setdefault((inside, paths[place][level] if inside else place), []).append(place)
    return list(found.values())


def _sort_hops(hops: Iterator[_Hop]) -> BlockMessages:
    """The messages, level by level and round by round."""
    return tuple(hop.message for hop in sorted(hops, key=lambda hop: (hop.level, hop.received, hop.round, hop.message)))
