"""Bridges and all-reduces: the timed all-reduces compute sums, and goals are compared with the right figures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from benchmarks import bridges, ends, reduce
from benchmarks.reduce import SIZES, Member, Seconds, slowest


@pytest.mark.parametrize("n", [2, 3, 4])
def test_what_is_timed_is_an_all_reduce(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "SIZES", {40: 1, 4: 1})
    members = [Member(rank, n) for rank in range(n)]
    addresses = {rank: member.transport.bind() for rank, member in enumerate(members)}
    arrays = [np.full(10, rank + 1, np.float32) for rank in range(n)]
    for member in members:
        member.transport.connect(addresses)
    for again in range(1, 4):
        with ThreadPoolExecutor(n) as pool:
            list(pool.map(Member.reduce, members, arrays))
        for array in arrays:
            np.testing.assert_array_equal(array, n ** (again - 1) * n * (n + 1) / 2)
    for member in members:
        member.transport.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shm", "zeromq"])
def test_a_process_answers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "TRIPS", 10)
    with bridges.bridge(kind) as made:
        assert min(made.one_way(), made.streamed(), made.round_trip()) > 0
        steps = {"large": 1 + bridges.BURST, "large done": 1 + bridges.BURST, "small": 10, "small back": 10}
        assert made.end.steps == steps
    assert made.end.transport.counts[ends.CHANNELS["large"][0]] == (1 + bridges.BURST) * bridges.LARGE


def test_the_slowest_member_counts() -> None:
    assert slowest([[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 2.0, 1.0]]) == dict(zip(SIZES, (3.0, 5.0, 2.0, 1.0), strict=True))


def test_the_goals_of_bridges() -> None:
    seconds = {"memcpy": 7.0, "one way shm": 10.0, "one way zeromq": 50.0, "streamed shm": 20.0}
    seconds |= {"streamed zeromq": 60.0, "round trip shm": 1.0, "round trip zeromq": 3.0}
    found = {(row.work, row.against): row for row in bridges.rows(seconds)}
    assert found["bridge of 64 MB, one way", "memcpy"].ratio == pytest.approx(0.7)
    assert [row.work for row in found.values() if row.missed] == ["round trip of 1 KB"]


def test_the_goals_of_all_reduces(monkeypatch: pytest.MonkeyPatch) -> None:
    def contender(seconds: float) -> object:
        def run(n: int) -> Seconds:
            return dict.fromkeys(SIZES, seconds * n)

        return run

    monkeypatch.setattr(reduce, "netpart", contender(2.0))
    monkeypatch.setattr(reduce, "gloo", contender(4.0))
    monkeypatch.setattr(reduce, "mpi", contender(1.0))
    rows = list(reduce.rows())
    assert len(rows) == 2 * len(SIZES) * len(reduce.MEMBERS)
    missed = [row.work for row in rows if row.missed]
    assert missed[:3] == [f"all-reduce of {kb} KB among 2 processes" for kb in (64, 1024, 65536)]
    assert {row.against for row in rows if row.missed} == {reduce.MPI}
