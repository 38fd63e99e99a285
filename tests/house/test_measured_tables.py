"""docs/planning.md: its tables of measured plans say what the benchmarks found."""

from __future__ import annotations

from typing import Any

from tools.planning_measured import chosen_table, predicted_table

PLACE = {"date": "2026-01-02", "machine": {"processor": "P", "cores": 2}, "versions": {"python": "3", "system": "L"}}


def chosen_row(**seconds: float) -> dict[str, Any]:
    plans = {"data": [0.0012, 0.001], **{name: [0.002, each] for name, each in seconds.items()}}
    return {"net": "lenet", "taken": "data", "plans": plans, "load": 0.05}


def test_a_net_has_the_plan_that_is_taken_and_the_fastest_other_one() -> None:
    text = chosen_table(PLACE | {"rows": [chosen_row(naive=0.0011, stages=0.003)]})
    assert "| LeNet | data | 1.2 ms | 1.0 ms | naive | +10.0% | 3 |" in text
    assert "In 1 of 1 nets no plan is faster by more than 2%" in text
    assert "behind" not in text
    assert "at most 0.05 cores" in text


def test_a_faster_plan_is_named() -> None:
    text = chosen_table(PLACE | {"rows": [chosen_row(naive=0.0008)]})
    assert "In 0 of 1 nets" in text
    assert "25.0% behind *naive*" in text


def test_each_scheme_has_its_step_and_error() -> None:
    rows = [
        {"work": "LeNet, DATA", "netpart": 0.0021, "peer": 0.002},
        {"work": "LeNet, PIPELINE", "netpart": 0.003, "peer": 0.004},
        {"work": "median error", "netpart": 0.15, "peer": 0.05},
        {"work": "error at the 95th percentile", "netpart": 0.25, "peer": 0.1},
    ]
    text = predicted_table(PLACE | {"rows": rows, "rounds": [{"load_of_others": load} for load in (0.01, None)]})
    assert "| LeNet | 2.0 ms, +5.0% | – | – | – | – | 4.0 ms, -25.0% |" in text
    assert "median error is 15.0% (goal 5%)" in text
    assert "25.0% (goal 10%)" in text


def test_what_was_not_measured_is_said() -> None:
    assert chosen_table(None) == "Not measured yet: `make bench-choices`.\n"
    assert predicted_table(None) == "Not measured yet: `make bench-predictions`.\n"
