"""Rounds: a schedule priced round by round takes the same seconds, to the bit, as message by message."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.choices import ALGORITHMS
from netpart.collectives.kinds import ALL_REDUCE, ALL_TO_ALL, KINDS, SWAP, collective_schedule, count_blocks
from netpart.collectives.network import LinkCost, Network, one_link_network
from netpart.collectives.price import PACKING, PricedMessage, arrival_times
from netpart.collectives.rounds import RoundPlay, split_rounds
from netpart.collectives.schedule import BlockMessage, Schedule

FAST, SLOW = LinkCost(10e-6, 5e-6, 3e9), LinkCost(90e-6, 20e-6, 2e8)


def price_one_by_one(schedules: list[Schedule], nbytes: list[int], network: Network) -> list[float]:
    """The arrivals, message by message."""
    messages = []
    for m in (m for schedule in schedules for m in schedule):
        load = sum(nbytes[b] for b in m.blocks)
        packing = load / PACKING if load > nbytes[m.blocks[0]] else 0.0
        messages.append(PricedMessage(m.source, m.target, load, () if m.own else m.blocks, packing))
    return arrival_times(messages, network)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_rounds_take_as_long_as_their_messages(kind: str, n: int) -> None:
    random = np.random.default_rng(n)
    two = Network(tuple("ab"[i % 2] for i in range(n)), SLOW, ((frozenset("a"), FAST), (frozenset("b"), LinkCost())))
    swaps = [SWAP] if kind == ALL_REDUCE and n == 2 else []
    for algorithm in (*ALGORITHMS, *swaps) if kind != ALL_TO_ALL else ("direct",):
        schedule = collective_schedule(kind, algorithm, n)
        nbytes = random.integers(0, 1 << 20, count_blocks(kind, algorithm, n)).tolist()
        nbytes[0] = 0  # an empty block is not sent
        for network in (one_link_network(n, FAST), two):
            play = RoundPlay(network, PACKING)
            play.play_schedule(schedule, nbytes, range(n), "tensor")
            play.play_schedule(schedule, nbytes, range(n), "tensor")
            assert play.arrivals.tolist() == price_one_by_one([schedule, schedule], nbytes, network)


def test_an_all_gather_of_n_has_n_minus_1_rounds() -> None:
    for algorithm in ("direct", "ring"):
        assert len(split_rounds(collective_schedule("all-gather", algorithm, 16))) == 15
    assert len(split_rounds(collective_schedule("all-gather", "doubling", 16))) == 4


def test_a_single_message_takes_as_long_as_a_round_of_one() -> None:
    """To the bit, after and before rounds: both move the same clocks."""
    random = np.random.default_rng(1)
    names = tuple("ab"[i % 2] for i in range(5))
    network = Network(names, SLOW, ((frozenset("a"), FAST), (frozenset("b"), LinkCost())))
    gather = collective_schedule("all-gather", "ring", 5)
    alone, rounds = RoundPlay(network, PACKING), RoundPlay(network, PACKING)
    for number in range(40):
        source, target = random.choice(5, 2, replace=False).tolist()
        nbytes = int(random.integers(0, 1 << 20)) * (number % 7 > 0)
        alone.play_message(source, target, nbytes)
        rounds.play_schedule(Schedule([BlockMessage(0, 1, (0,))]), [nbytes], (source, target), number)
        if number % 10 == 0:
            for play in (alone, rounds):
                play.play_schedule(gather, [nbytes] * 5, range(5), "tensor")
    assert alone.arrivals.tolist() == rounds.arrivals.tolist()
    assert alone.sending.tolist() == rounds.sending.tolist()
    assert alone.entries.tolist() == rounds.entries.tolist()
