"""The benchmark of choices: when the plan that is taken is the best, and when the goals are reached."""

from __future__ import annotations

import pytest

from benchmarks.choices import NETS, Row, behind, best_plan, is_best, line_of, planned_rows, reached
from benchmarks.nets import Net
from benchmarks.step_times import undisturbed


def row(**seconds: float | None) -> Row:
    """A net whose plan `taken` takes a second."""
    plans = {"taken": [1.1, 1.0], **{name: [2.0, each] for name, each in seconds.items()}}
    return {"net": "lenet", "taken": "taken", "plans": plans}


def test_a_plan_is_the_best_if_no_other_is_measurably_faster() -> None:
    assert is_best(row(other=0.99, unmeasured=None))
    assert not is_best(row(other=0.96))
    assert behind(row(other=0.8)) == pytest.approx(0.25)
    assert best_plan(row(other=0.8, third=0.9)) == "other"


def test_goals_are_of_most_nets_and_of_all() -> None:
    good, near, far = row(other=1.2), row(other=0.96), row(other=0.8)
    assert reached([good] * 4 + [near])
    assert not reached([good] * 3 + [near])
    assert not reached([good] * 9 + [far])


def test_a_line_says_which_plan_is_faster() -> None:
    text = line_of(row(other=0.8, unmeasured=None))
    assert text.startswith("lenet: taken is taken: 25.0% behind other\n")
    assert "unmeasured" not in text


def test_a_quarter_of_the_steps_are_below() -> None:
    assert undisturbed([5.0, 1.0, 9.0, 2.0]) == 2.0


@pytest.mark.slow
def test_a_net_has_the_plan_that_is_taken_and_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.choices.LIMIT", 0.1)
    taken, plans = planned_rows(Net("lenet", "LeNet", NETS["lenet"].path, 4))
    assert taken in plans
    assert len({plan.name for plan in plans}) == len(plans) > 3
    assert all(0 < taken.predicted <= plan.predicted or plan is taken for plan in plans if "one worker" in plan.name)
