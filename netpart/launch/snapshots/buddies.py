"""Buddies: which worker keeps what another one sends at a snapshot."""

from __future__ import annotations

from collections.abc import Sequence

NOBODY = -1


def assign_buddies(hosts: Sequence[str]) -> list[int]:
    """For each worker the rank of its buddy: on another host where there is one, never the worker itself.

    ``hosts`` has the host of each rank. Workers of one host are spread over those of the others. One worker alone has
    NOBODY.
    """
    served = [0] * len(hosts)
    return [_choose_buddy(rank, hosts, served) for rank in range(len(hosts))]


def _choose_buddy(rank: int, hosts: Sequence[str], served: list[int]) -> int:
    """The buddy of ``rank``: of those that serve the fewest, the next one in rank; counted in ``served``."""
    count = len(hosts)
    away = [r for r in range(count) if hosts[r] != hosts[rank]] or [r for r in range(count) if r != rank]
    if not away:
        return NOBODY
    found = min(away, key=lambda r: (served[r], (r - rank) % count))
    served[found] += 1
    return found
