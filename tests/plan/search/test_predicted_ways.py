"""Predicted ways: the fastest way is known with its partition, and others are cut again when they are asked for."""

from __future__ import annotations

from collections import Counter, deque
from math import inf
from typing import cast

from netpart.graph.partition import Partition
from netpart.plan.schemes.data import data_parallel_by_speed
from netpart.plan.search.predicted_ways import PredictedWays, order_counts, predict_in_turn
from netpart.plan.search.proposal import Proposal, ProposalRow
from netpart.plan.search.way_floors import Way
from netpart.proto.reader import Job

cuts = Counter[int]()


def way_of(count: int) -> Way:
    return data_parallel_by_speed([1.0, 1.0]), count


def predict(way: Way) -> Proposal:
    cuts[way[1]] += 1
    whole = cast("Partition", object())
    return Proposal(ProposalRow("data", way[1], seconds=abs(way[1] - 4)), cast("Job", None), whole)


def test_the_fastest_comes_first_and_others_are_cut_again() -> None:
    cuts.clear()
    ways = PredictedWays(deque(map(way_of, (1, 2, 4, 16))), predict)
    ways.try_in_time(inf)
    assert ways.seconds == 0
    assert set(cuts.values()) == {1}
    assert [p.row.micro_batches for p in ways.fastest()] == [4, 2, 1, 16]
    assert cuts == {1: 2, 2: 2, 4: 1, 16: 2}
    assert [p.row.micro_batches for p in ways.fastest(3)] == [4, 2]


def test_without_time_one_way_is_tried() -> None:
    ways = PredictedWays(deque(map(way_of, (1, 4))), predict)
    ways.try_in_time(0.0)
    assert [p.row.micro_batches for p in ways.fastest()] == [1]
    assert len(ways.left) == 1


def test_rows_take_turns() -> None:
    order: list[str] = []

    def noting(name: str) -> PredictedWays:
        def noted(way: Way) -> Proposal:
            order.append(name)
            return predict(way)

        return PredictedWays(deque(map(way_of, (1, 2))), noted)

    predict_in_turn([("one", noting("one")), ("two", noting("two"))], inf)
    assert order == ["one", "two", "one", "two"]


def test_micro_batches_near_two_for_each_worker_come_first() -> None:
    assert order_counts([1, 2, 4, 8, 16, 32], 4) == [8, 4, 16, 2, 32, 1]
