"""Oversubscribed hosts: workers of one host that compute on more threads than it has cores, so they slow each other
down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netpart.choices import CPU
from netpart.launch.coordinator.watchdog import MemberRecord


@dataclass(frozen=True)
class OversubscribedHost:
    """Workers ``ranks`` that share ``cores``.

    With ``share`` threads per worker there is a core for every thread, or the minimum of one thread each.
    """

    ranks: tuple[int, ...]
    cores: int

    @property
    def share(self) -> int:
        return max(1, self.cores // len(self.ranks))


def find_oversubscribed_hosts(members: Iterable[MemberRecord]) -> tuple[OversubscribedHost, ...]:
    """For each host, its workers on the CPU if they have more threads together than it has cores."""
    hosts: dict[str, list[MemberRecord]] = {}
    for member in members:
        if member.device == CPU:
            hosts.setdefault(member.host, []).append(member)
    return tuple(crowd for those in hosts.values() if (crowd := _oversubscribed_host(those)))


def _oversubscribed_host(members: list[MemberRecord]) -> OversubscribedHost | None:
    """``members``, which share a host, as an OversubscribedHost. None if there are enough cores, or each has one thread
    already."""
    crowd = OversubscribedHost(tuple(m.rank for m in members), len(frozenset().union(*(m.cores for m in members))))
    threads = [m.threads for m in members]
    return crowd if sum(threads) > crowd.cores and max(threads) > 1 else None
