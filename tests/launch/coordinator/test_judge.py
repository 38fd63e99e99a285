"""MetricJudge: what improves, when the patience is exhausted, what the cooldown does, what a NaN counts as."""

from __future__ import annotations

from math import nan

import pytest

from netpart.graph.judged_metrics import STOP, JudgedMetric
from netpart.launch.coordinator.judge import MetricJudge


def judge(larger: bool = False, least: float = 0.0, patience: int = 2, cooldown: int = 0) -> MetricJudge:
    return MetricJudge(JudgedMetric(STOP, "val", "loss/loss", larger, least, patience, cooldown))


def test_an_improvement_is_more_than_the_least_change() -> None:
    low = judge(least=0.5)
    assert [low.judge(k, value) for k, value in enumerate([4.0, 3.5, 3.4, 3.0, 2.8])] == [
        True,
        False,
        True,
        False,
        True,
    ]
    high = judge(larger=True)
    assert [high.judge(k, value) for k, value in enumerate([0.5, 0.5, 0.4, 0.6])] == [True, False, False, True]
    assert (high.best, high.best_step) == (0.6, 3)


def test_the_patience_ends_after_so_many_without_an_improvement() -> None:
    found = judge(patience=3)
    told = []
    for k, value in enumerate([1.0, 1.1, 0.9, 1.0, 0.9, 0.95]):
        found.judge(k, value)
        told.append(found.exhausted)
    assert told == [False] * 5 + [True]


def test_nan_is_no_improvement() -> None:
    found = judge()
    assert [found.judge(k, value) for k, value in enumerate([nan, 1.0, nan, nan])] == [False, True, False, False]
    assert found.exhausted
    assert found.best == 1.0


def test_a_cooldown_is_not_counted() -> None:
    found = judge(patience=1, cooldown=2)
    found.judge(0, 1.0)
    found.judge(1, 2.0)
    found.restart()
    told = []
    for k in range(2, 6):
        found.judge(k, 2.0)
        told.append(found.bad)
    assert told == [0, 0, 1, 2]


def test_a_state_goes_and_comes_and_belongs_to_its_metric() -> None:
    found = judge()
    found.judge(3, 1.0)
    found.judge(4, 2.0)
    other = judge()
    other.restore(found.state())
    assert other == found
    another = judge(larger=True)
    another.restore(found.state())
    assert another == judge(larger=True)
    for wrong in ({"bad": True}, {"bad": -1}, {"best": nan}, {"best": "1"}, {"changes": 2**40}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            judge().restore(found.state() | wrong)
