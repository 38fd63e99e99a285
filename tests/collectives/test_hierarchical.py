"""Hierarchical collectives: what they leave at their members for any tree of hosts, and how a block enters a host."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.choices import DIRECT, HIERARCHICAL
from netpart.collectives import choose_algorithm, collective_schedule, count_blocks, returned_messages, schedule_seconds
from netpart.collectives.kinds import ALL_GATHER, ALL_REDUCE, BROADCAST, KINDS, REDUCE, REDUCE_SCATTER
from netpart.collectives.network import HostPath, LinkCost, Network
from netpart.collectives.price import bytes_by_block
from tests.collectives.team import Blocks, Team, bring, same, there, total

Paths = tuple[HostPath, ...]
FAST = LinkCost(5e-6, 2e-6, 50e9)
CARD = LinkCost(10e-6, 5e-6, 1.25e9)


@st.composite
def trees(draw: st.DrawFn) -> Paths:
    """The hosts of up to 9 members, in up to 3 levels; some members may be in no host of a level."""
    n, count = draw(st.integers(1, 9)), 0
    paths: list[HostPath] = [()] * n
    for _ in range(draw(st.integers(0, 3))):
        for path in sorted(set(paths)):
            inside = [place for place in range(n) if paths[place] == path]
            for place, host in zip(inside, sorted(draw(st.integers(0, 2)) for _ in inside), strict=True):
                if host:
                    paths[place] = (*path, count + host)
            count += 3
    return tuple(draw(st.permutations(paths)))


SIZES = st.lists(st.integers(0, 6), min_size=9, max_size=9)
SEEDS = st.integers(0, 99)


@given(trees(), SIZES, SEEDS)
def test_gathers_and_sums_leave_what_they_should(paths: Paths, sizes: list[int], seed: int) -> None:
    n = len(paths)
    sizes = sizes[:n]
    own = bring(n, sizes, lambda i, b: i == b, seed)
    gathered = Team(ALL_GATHER, HIERARCHICAL, n, sizes, own, paths).play(seed)
    assert all(same(gathered[i][b], own[b][b]) for i in range(n) for b in range(n))
    local = bring(n, sizes, lambda i, b: True, seed)
    scattered = Team(REDUCE_SCATTER, HIERARCHICAL, n, sizes, local, paths).play(seed)
    assert all(same(scattered[b][b], total(local, b)) for b in range(n if n > 1 else 0))
    team = Team(ALL_REDUCE, HIERARCHICAL, n, sizes, local, paths)
    reduced = team.play(seed)
    assert all(same(reduced[i][b], total(local, b)) for i in range(n) for b in range(n))
    assert sum(team.sent.values()) == 2 * (n - 1) * sum(sizes)


@given(trees(), SIZES, SEEDS)
def test_broadcast_and_reduce_end_where_they_should(paths: Paths, sizes: list[int], seed: int) -> None:
    n = len(paths)
    local = bring(n, sizes[:1], lambda i, b: i == 0, seed)
    spread = Team(BROADCAST, HIERARCHICAL, n, sizes, local, paths).play(seed)
    assert all(same(spread[i][0], local[0][0]) for i in range(n))
    addends = bring(n, sizes[:1], lambda i, b: True, seed)
    assert same(Team(REDUCE, HIERARCHICAL, n, sizes, addends, paths).play(seed)[0][0], total(addends, 0))


@given(trees(), SIZES, SEEDS)
def test_addends_that_stay_with_their_senders_are_added_in_time(paths: Paths, sizes: list[int], seed: int) -> None:
    n = len(paths)
    local = bring(n, sizes[:n], lambda i, b: True, seed)
    expected = [total(local, b) for b in range(n)]
    team = Team(ALL_REDUCE, HIERARCHICAL, n, sizes, local, paths)
    assert len(returned_messages(team.schedule)) == len(team.schedule) // 2
    team.in_place(sizes[:n], local, returned_messages(team.schedule))
    after = team.play(seed)
    assert all(same(after[i][b], wanted) for i in range(n) for b, wanted in enumerate(expected))


@given(trees(), SEEDS)
def test_all_members_end_with_the_same_bits(paths: Paths, seed: int) -> None:
    random, n = np.random.default_rng(seed), len(paths)
    local: list[Blocks] = [[random.normal(size=5) * 10.0 ** random.integers(-9, 9, 5) for _ in paths] for _ in paths]
    first, *others = Team(ALL_REDUCE, HIERARCHICAL, n, [5] * n, local, paths).play(seed)
    assert all(there(a).tobytes() == there(b).tobytes() for other in others for a, b in zip(first, other, strict=True))


@given(trees())
def test_a_block_enters_each_host_once(paths: Paths) -> None:
    """Whatever hosts are inside it, and never its own."""
    entered = Counter[tuple[int, int]]()
    for m in collective_schedule(ALL_GATHER, HIERARCHICAL, len(paths), paths):
        entered.update((host, m.blocks[0]) for host in paths[m.target] if host not in paths[m.source])
    hosts = {host for path in paths for host in path}
    assert entered == Counter({(h, b): 1 for h in hosts for b, path in enumerate(paths) if h not in path})


@given(st.sampled_from(KINDS), st.integers(1, 9))
def test_without_hosts_it_is_direct(kind: str, n: int) -> None:
    assert sorted(collective_schedule(kind, HIERARCHICAL, n)) == sorted(collective_schedule(kind, DIRECT, n))
    assert count_blocks(kind, HIERARCHICAL, n) == count_blocks(kind, DIRECT, n)


def hosts_of(*sizes: int, card: LinkCost = CARD) -> Network:
    """Hosts of so many workers each."""
    paths = tuple((host,) for host, size in enumerate(sizes) for _ in range(size))
    return Network(("gpu",) * sum(sizes), FAST, (), paths, (card,) * len(sizes))


def price(kind: str, algorithm: str, nbytes: int, network: Network) -> float:
    n = len(network)
    schedule = collective_schedule(kind, algorithm, n, network.paths)
    return schedule_seconds(schedule, bytes_by_block((nbytes,), count_blocks(kind, algorithm, n)), n, network)


def test_a_large_sum_over_hosts_takes_what_their_cards_take() -> None:
    """Each of H cards sends (H - 1) / H of a tensor for each half: direct sends as much for every worker inside."""
    network, nbytes = hosts_of(4, 4), 1 << 28
    least = 2 * nbytes / 2 / CARD.bandwidth
    assert price(ALL_REDUCE, HIERARCHICAL, nbytes, network) == pytest.approx(least, rel=0.1)
    assert price(ALL_REDUCE, DIRECT, nbytes, network) == pytest.approx(4 * least, rel=0.1)


@pytest.mark.parametrize(
    ("nbytes", "sizes", "expected"), [(1 << 26, (4, 4), HIERARCHICAL), (1 << 26, (4, 4, 2), HIERARCHICAL)]
)
def test_auto_is_hierarchical_where_that_is_faster(nbytes: int, sizes: tuple[int, ...], expected: str) -> None:
    found = choose_algorithm(ALL_REDUCE, sum(sizes), (nbytes,), network=hosts_of(*sizes))
    assert found == expected
    assert choose_algorithm(ALL_REDUCE, sum(sizes), (nbytes,)) == DIRECT


@given(st.sampled_from(KINDS[:-1]), st.lists(st.integers(1, 3), min_size=2, max_size=3), st.integers(1, 1 << 26))
def test_auto_takes_what_costs_least_over_hosts(kind: str, sizes: list[int], nbytes: int) -> None:
    network = hosts_of(*sizes)
    found = choose_algorithm(kind, sum(sizes), (nbytes,), network=network)
    if found != "swap":
        every = ("direct", "doubling", "ring", "tree", HIERARCHICAL)
        assert price(kind, found, nbytes, network) == min(price(kind, each, nbytes, network) for each in every)


def test_equal_parts_of_a_network_are_equal() -> None:
    network = hosts_of(4, 4)
    assert network.part((0, 1, 4)) == network.part((5, 6, 3)) != network.part((0, 1, 2))
    assert not network.part((4, 5)).paths
    assert not network.part((4, 5)).hosts
    assert [len(path) for path in network.part((0, 4)).paths] == [1, 1]
