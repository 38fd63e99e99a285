"""Workers of one host that have more threads than it has cores are found, whoever started them."""

from __future__ import annotations

import pytest

from netpart.launch.coordinator.oversubscribed_hosts import OversubscribedHost, find_oversubscribed_hosts
from netpart.launch.coordinator.watchdog import MemberRecord


def member(rank: int, threads: int, cores: range, host: str = "a", device: str = "cpu") -> MemberRecord:
    return MemberRecord(rank, threads=threads, cores=frozenset(cores), host=host, device=device)


def test_threads_of_a_host_are_counted_together() -> None:
    two, other = range(2), range(2)
    assert find_oversubscribed_hosts([member(0, 2, two), member(1, 2, two), member(2, 2, other, "b")]) == (
        OversubscribedHost((0, 1), 2),
    )
    assert find_oversubscribed_hosts([member(0, 2, two), member(1, 1, two)])[0].share == 1
    assert find_oversubscribed_hosts([member(0, 500, range(8))]) == (OversubscribedHost((0,), 8),)
    assert [crowd.ranks for crowd in find_oversubscribed_hosts([member(k, 3, two, "ab"[k % 2]) for k in range(4)])] == [
        (0, 2),
        (1, 3),
    ]


@pytest.mark.parametrize(
    "members",
    [
        [member(0, 1, range(2)), member(1, 1, range(2))],
        [member(0, 4, range(4)), member(1, 4, range(4, 8))],
        [member(k, 1, range(2)) for k in range(5)],
        [member(0, 2, range(2)), member(1, 2, range(2), device="cuda:0")],
        [member(0, 2, range(2)), member(1, 2, range(2), "b")],
    ],
    ids=["as many as cores", "bound to their own", "no fewer can be", "one computes on a GPU", "two hosts"],
)
def test_who_has_a_core_for_each_thread_is_no_crowd(members: list[MemberRecord]) -> None:
    assert find_oversubscribed_hosts(members) == ()
