"""Schedules: what every collective leaves at its members, what it sends, and how many rounds it takes."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.choices import ALGORITHMS
from netpart.collectives import (
    BlockMessage,
    LinkCost,
    choose_algorithm,
    collective_schedule,
    count_blocks,
    returned_messages,
    schedule_seconds,
)
from netpart.collectives.kinds import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    KINDS,
    REDUCE,
    REDUCE_SCATTER,
    SWAP,
)
from netpart.collectives.price import SWAPPED, bytes_by_block, cheapest_algorithm
from netpart.collectives.schedule import Schedule
from netpart.program.messages.wire_memory import AHEAD
from netpart.worker.collective_progress import CollectiveProgress
from tests.collectives.team import Blocks, Team, bring, same, there, total

SIZES = st.lists(st.integers(0, 6), min_size=100, max_size=100)
MEMBERS, ALGORITHM = st.integers(1, 10), st.sampled_from(ALGORITHMS)


@given(ALGORITHM, MEMBERS, SIZES, st.integers(0, 99))
def test_all_gather(algorithm: str, n: int, sizes: list[int], seed: int) -> None:
    local = bring(n, sizes[:n], lambda i, b: i == b, seed)
    team = Team(ALL_GATHER, algorithm, n, sizes, local)
    after = team.play(seed)
    assert all(same(after[i][b], local[b][b]) for i in range(n) for b in range(n))
    assert sum(team.sent.values()) == (n - 1) * sum(sizes[:n])


@given(ALGORITHM, MEMBERS, SIZES, st.integers(0, 99))
def test_reduce_scatter(algorithm: str, n: int, sizes: list[int], seed: int) -> None:
    local = bring(n, sizes[:n], lambda i, b: True, seed)
    team = Team(REDUCE_SCATTER, algorithm, n, sizes, local)
    after = team.play(seed)
    for b in range(n if n > 1 else 0):
        assert same(after[b][b], total(local, b))
    assert sum(team.sent.values()) == (n - 1) * sum(sizes[:n])


@given(ALGORITHM, MEMBERS, SIZES, st.integers(0, 99))
def test_all_reduce(algorithm: str, n: int, sizes: list[int], seed: int) -> None:
    count = count_blocks(ALL_REDUCE, algorithm, n)
    local = bring(n, sizes[:count], lambda i, b: True, seed)
    team = Team(ALL_REDUCE, algorithm, n, sizes, local)
    after = team.play(seed)
    for b in range(count):
        assert all(same(after[i][b], total(local, b)) for i in range(n))
    assert sum(team.sent.values()) == 2 * (n - 1) * sum(sizes[:count])


@given(ALGORITHM, MEMBERS, SIZES, st.integers(0, 99))
def test_an_addend_that_stays_with_its_sender_is_added_before_its_sum_comes_back(
    algorithm: str, n: int, sizes: list[int], seed: int
) -> None:
    sizes = sizes[: count_blocks(ALL_REDUCE, algorithm, n)]
    local = bring(n, sizes, lambda i, b: True, seed)
    expected = [total(local, b) for b in range(len(sizes))]
    team = Team(ALL_REDUCE, algorithm, n, sizes, local)
    team.in_place(sizes, local, returned_messages(team.schedule))
    after = team.play(seed)
    assert all(same(after[i][b], wanted) for i in range(n) for b, wanted in enumerate(expected))


@given(ALGORITHM, st.integers(2, 10), SIZES, st.integers(0, 99))
def test_an_addend_that_stays_is_added_before_what_was_made_of_its_sum_comes(
    algorithm: str, n: int, sizes: list[int], seed: int
) -> None:
    """Whoever has all values spoils at once what it has brought."""
    random, sizes = np.random.default_rng(seed), sizes[:n]
    local = bring(n, sizes, lambda i, b: True, seed)
    expected = [-total(local, b) for b in range(n)]
    made: list[Blocks] = [[np.zeros(s) if i == b else None for b, s in enumerate(sizes)] for i in range(n)]
    sums, values = Team(REDUCE_SCATTER, algorithm, n, sizes, local), Team(ALL_GATHER, algorithm, n, sizes, made)
    sums.in_place(sizes, local, returned_messages(sums.schedule + values.schedule) & set(range(len(sums.schedule))))
    for i, member in enumerate(sums.members):
        sums.post(i, member.start())
    updated, waiting = set[int](), set(range(n))
    while waiting:
        i = int(random.choice(sorted(waiting)))
        if sums.members[i].done and i not in updated:
            np.negative(there(local[i][i]), out=there(made[i][i]))
            updated.add(i)
            values.post(i, values.members[i].start())
        for team in (sums, values):
            if team.arrived(i):
                team.take(i)
        if values.members[i].done:
            waiting.remove(i)
            for block in local[i]:
                there(block).fill(np.nan)
    assert all(same(values.target[i][b], wanted) for i in range(n) for b, wanted in enumerate(expected))


def test_of_two_halves_all_addends_stay_and_of_a_swap_none() -> None:
    scatter, gather = collective_schedule(REDUCE_SCATTER, "direct", 4), collective_schedule(ALL_GATHER, "direct", 4)
    assert returned_messages(scatter) == frozenset()
    assert returned_messages(scatter + gather) == frozenset(range(len(scatter)))
    assert returned_messages(collective_schedule(ALL_REDUCE, SWAP, 2)) == frozenset()


def test_an_addend_of_a_swap_that_stayed_would_be_added_too_late() -> None:
    local: list[Blocks] = [[np.ones(1)], [np.ones(1)]]
    team = Team(ALL_REDUCE, SWAP, 2, [1], local)
    team.in_place([1], local, frozenset(range(2)))
    assert sorted(float(there(block)[0]) for (block,) in team.play(0)) == [2, 3]


@given(ALGORITHM, MEMBERS, st.integers(0, 99))
def test_all_members_of_an_all_reduce_end_with_the_same_bits(algorithm: str, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = count_blocks(ALL_REDUCE, algorithm, n)
    local: list[Blocks] = [
        [random.normal(size=5) * 10.0 ** random.integers(-9, 9, 5) for _ in range(count)] for _ in range(n)
    ]
    first, *others = Team(ALL_REDUCE, algorithm, n, [5] * count, local).play(seed)
    for other in others:
        assert all(there(a).tobytes() == there(b).tobytes() for a, b in zip(first, other, strict=True))


@given(st.integers(0, 6), st.integers(0, 99), st.booleans())
def test_a_swap_is_an_all_reduce_of_two_in_one_round_for_the_same_bytes(size: int, seed: int, in_place: bool) -> None:
    local = bring(2, [size], lambda i, b: True, seed)
    expected = total(local, 0)
    team = Team(ALL_REDUCE, SWAP, 2, [size], local)
    if in_place:
        team.members = [CollectiveProgress(team.schedule, i, [size], local[i], local[i]) for i in range(2)]
        team.target = local
    assert all(same(target, expected) for (target,) in team.play(seed)) or not size
    assert sum(team.sent.values()) == 2 * size
    assert round(schedule_seconds(team.schedule, [1], 2, LinkCost(latency=1.0, overhead=0.0, bandwidth=1e15))) == 1


@given(st.integers(0, 99))
def test_a_swap_needs_room_for_two_messages_of_each(seed: int) -> None:
    """One member may be done, and go on, before the other has taken what it sent; but not go on twice."""
    random = np.random.default_rng(seed)
    ends = [0, 0]
    started = [0, 0]
    waiting: list[list[np.ndarray]] = [[], []]
    members = [
        CollectiveProgress(collective_schedule(ALL_REDUCE, SWAP, 2), i, [1], [np.ones(1)], [np.zeros(1)])
        for i in range(2)
    ]
    while min(ends) < 6:
        i = int(random.integers(2))
        if started[i] == ends[i]:
            waiting[1 - i] += [array.copy() for _, _, array in members[i].start()]
            started[i] += 1
            assert len(waiting[1 - i]) <= AHEAD
        elif waiting[i]:
            list(members[i].deliver(waiting[i].pop(0)))
            ends[i] += 1


@given(ALGORITHM, MEMBERS, SIZES, st.integers(0, 99))
def test_broadcast_and_reduce(algorithm: str, n: int, sizes: list[int], seed: int) -> None:
    count = count_blocks(BROADCAST, algorithm, n)
    local = bring(n, sizes[:count], lambda i, b: i == 0, seed)
    after = Team(BROADCAST, algorithm, n, sizes, local).play(seed)
    assert all(same(after[i][b], local[0][b]) for i in range(n) for b in range(count))
    addends = bring(n, sizes[:count], lambda i, b: True, seed)
    after = Team(REDUCE, algorithm, n, sizes, addends).play(seed)
    assert all(same(after[0][b], total(addends, b)) for b in range(count))


@given(MEMBERS, SIZES, st.integers(0, 99))
def test_all_to_all(n: int, sizes: list[int], seed: int) -> None:
    sizes = (sizes * n)[: n * n]
    local = bring(n, sizes, lambda i, b: b // n == i, seed)
    after = Team(ALL_TO_ALL, "direct", n, sizes, local).play(seed)
    assert all(same(after[b % n][b], local[b // n][b]) for b in range(n * n))


@given(st.sampled_from([ALL_GATHER, BROADCAST, ALL_TO_ALL]), ALGORITHM, MEMBERS)
def test_a_block_is_sent_by_who_has_it_and_reaches_nobody_twice(kind: str, algorithm: str, n: int) -> None:
    count = count_blocks(kind, algorithm, n)
    origin = {ALL_GATHER: range(count), BROADCAST: [0] * count, ALL_TO_ALL: [b // n for b in range(count)]}
    has = {(place, b) for b, place in enumerate(origin[kind])}
    for m in collective_schedule(kind, algorithm, n):
        assert all((m.source, b) in has for b in m.blocks)
        assert not any((m.target, b) in has for b in m.blocks)
        has |= {(m.target, b) for b in m.blocks}


DEEP = [
    (ALL_GATHER, "doubling", 1), (REDUCE_SCATTER, "doubling", 1), (ALL_REDUCE, "doubling", 2),
    (BROADCAST, "tree", 1), (REDUCE, "tree", 1), (ALL_REDUCE, "tree", 2),
]  # fmt: skip
"""Collectives that take so many times log2 N rounds."""


@pytest.mark.parametrize("n", range(2, 18))
def test_rounds(n: int) -> None:
    """Counted with a link on which only latency matters."""
    link = LinkCost(latency=1.0, overhead=0.0, bandwidth=1e15)

    def rounds(kind: str, algorithm: str) -> int:
        messages = collective_schedule(kind, algorithm, n)
        return round(schedule_seconds(messages, [1] * count_blocks(kind, algorithm, n), n, link))

    assert rounds(ALL_GATHER, "ring") == rounds(REDUCE_SCATTER, "ring") == n - 1
    for kind, algorithm, times in DEEP:
        most = times * ceil(log2(n))
        assert rounds(kind, algorithm) == most if n & (n - 1) == 0 else rounds(kind, algorithm) <= most
    assert rounds(ALL_GATHER, "direct") == rounds(ALL_TO_ALL, "direct") == 1
    assert rounds(ALL_REDUCE, "ring") == 2 * (n - 1)


def test_what_is_packed_keeps_both_ends_busy() -> None:
    """Of two blocks that go on together, 2 GB, a core copies 5 in a second; alone they go as they are."""
    link = LinkCost(latency=0.0, overhead=0.0, bandwidth=1e15)
    apart = Schedule([BlockMessage(0, 1, (0,)), BlockMessage(0, 1, (1,))])
    together = Schedule([BlockMessage(0, 1, (0, 1))])
    assert schedule_seconds(apart, [10**9] * 2, 2, link) == pytest.approx(0, abs=1e-3)
    assert schedule_seconds(together, [10**9] * 2, 2, link) == pytest.approx(2 * 0.4, rel=1e-3)


def test_a_ring_of_three_as_drawn() -> None:
    gather = collective_schedule(ALL_GATHER, "ring", 3)
    assert gather[:3] == (BlockMessage(0, 1, (0,)), BlockMessage(1, 2, (1,)), BlockMessage(2, 0, (2,)))
    assert gather[3:] == (BlockMessage(0, 1, (2,)), BlockMessage(1, 2, (0,)), BlockMessage(2, 0, (1,)))


@pytest.mark.parametrize(
    ("kind", "n", "nbytes", "expected"),
    [
        (ALL_REDUCE, 8, 64, "direct"),
        (ALL_REDUCE, 64, 64, "doubling"),
        (ALL_REDUCE, 2, SWAPPED, SWAP),
        (ALL_REDUCE, 2, SWAPPED + 1, "direct"),
        (ALL_REDUCE, 64, 1 << 22, "direct"),
        (BROADCAST, 8, 64, "direct"),
        (BROADCAST, 64, 64, "doubling"),
        (BROADCAST, 8, 1 << 26, "ring"),
    ],
)
def test_auto_goes_straight_among_few_or_for_much_and_in_few_rounds_among_many(
    kind: str, n: int, nbytes: int, expected: str
) -> None:
    assert choose_algorithm(kind, n, (nbytes,)) == expected


@given(st.sampled_from(KINDS[:-1]), MEMBERS, st.integers(1, 1 << 30))
def test_auto_takes_what_costs_least(kind: str, n: int, nbytes: int) -> None:
    def price(algorithm: str) -> float:
        return schedule_seconds(
            collective_schedule(kind, algorithm, n), bytes_by_block((nbytes,), count_blocks(kind, algorithm, n)), n
        )

    assert price(cheapest_algorithm(kind, n, (nbytes,))) == min(map(price, ALGORITHMS))


def test_who_asks_for_an_algorithm_gets_it_where_there_is_one() -> None:
    assert choose_algorithm(ALL_REDUCE, 8, (64,), "ring") == "ring"
    assert choose_algorithm(ALL_TO_ALL, 3, (1,) * 9, "ring") == "direct"


@given(ALGORITHM, st.integers(2, 7), SIZES, st.integers(0, 99))
def test_an_all_reduce_needs_room_for_one_message_of_each(algorithm: str, n: int, sizes: list[int], seed: int) -> None:
    """Everybody goes on to the next step as soon as it is done with this one: REDUCE_AHEAD of
    program/messages/wire_memory.py."""
    random, steps = np.random.default_rng(seed), [0] * n
    local = bring(n, sizes[: count_blocks(ALL_REDUCE, algorithm, n)], lambda i, b: True, seed)
    team = Team(ALL_REDUCE, algorithm, n, sizes, local)
    while min(steps) < 4:
        i = int(random.integers(n))
        member = team.members[i]
        if member.done or steps[i] == 0:
            team.post(i, member.start())
            steps[i] += 1
        elif (wanted := member.expects()) and wanted[1] in team.posted:
            team.post(i, member.deliver(team.posted.pop(wanted[1])))


def test_an_all_reduce_shares_the_messages_of_its_halves() -> None:
    """Of many members a schedule has millions, and they are kept."""
    whole = collective_schedule("all-reduce", "ring", 6, ())
    halves = [collective_schedule(kind, "ring", 6, ()) for kind in ("reduce-scatter", "all-gather")]
    assert [id(m) for m in whole] == [id(m) for half in halves for m in half]


class CountedMessage(BlockMessage):
    """A message that counts how often its hash is asked for."""

    asked = 0

    def __hash__(self) -> int:
        CountedMessage.asked += 1
        return super().__hash__()


def test_a_schedule_hashes_its_messages_once() -> None:
    messages = (CountedMessage(0, 1, (0,)), CountedMessage(1, 0, (1,)))
    schedule = Schedule(messages)
    assert schedule == messages
    assert hash(schedule) == hash(schedule) == hash(messages)
    assert CountedMessage.asked == 2 * len(messages)


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(KeyError, match="scatter-all"):
        collective_schedule("scatter-all", "ring", 4)
