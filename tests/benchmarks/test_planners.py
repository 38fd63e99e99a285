"""The benchmark of planners: its problems are as documented, and a missed goal is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import planners
from benchmarks.planners import PROBLEMS, RESULTS, gap_to_exact, missed, problem_of, summary


def row(objective: str, gabra: float, seconds: float = 1.0, legal: bool = True) -> dict[str, Any]:
    """The row of ``measure`` for a problem with a bound of 1."""
    plan = {"value": gabra, "gap": abs(gabra - 1), "seconds": seconds, "legal": legal}
    best = {"value": 1.0, "gap": 0.0, "seconds": 5.0, "legal": True}
    return {"objective": objective, "exact": best, "gabra": plan, "greedy": plan}


@pytest.mark.parametrize("seed", range(20))
def test_problems_are_as_full_as_it_says(seed: int) -> None:
    problem = problem_of(seed)
    assert (len(problem.loads), len(problem.capacities)) == (50, 8)
    assert 0.70 <= problem.loads.sum() / problem.capacities.sum() <= 0.95


@pytest.mark.parametrize(
    ("rows", "goals"),
    [
        ([row("profit", 0.995), row("makespan", 1.01)], []),
        ([row("profit", 0.98), row("makespan", 1.01)], ["gap on the profit"]),
        ([row("profit", 1.0, seconds=6.0), row("makespan", 1.03)], ["time", "makespan"]),
        ([row("profit", 1.0, legal=False), row("makespan", 1.0)], ["every plan legal"]),
    ],
)
def test_a_missed_goal_is_told(rows: list[dict[str, Any]], goals: list[str]) -> None:
    assert missed(summary(rows), 1) == goals


def test_behind_is_a_share_of_the_best_plan() -> None:
    assert gap_to_exact(row("makespan", 1.05)) == pytest.approx(0.05)


def test_the_published_results_reach_every_goal() -> None:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert missed(found["summary"], PROBLEMS) == []


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that gets what is measured."""
    monkeypatch.setattr(planners, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(planners, "ROWS", tmp_path / "rows.json")
    return tmp_path


def test_the_results_say_what_all_problems_say_and_a_file_beside_them_has_each(out: Path) -> None:
    rows = [row("profit", 0.995), row("makespan", 1.01)]
    planners.keep(rows, summary(rows))
    written = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert written.keys() == json.loads(RESULTS.read_text(encoding="utf-8")).keys()
    assert written["summary"] == summary(rows)
    assert planners.rows_of(out / "rows.json") == rows


@pytest.mark.usefixtures("out")
def test_heuristics_alone_need_a_whole_run_before_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["planners", "heuristics"])
    assert planners.main() == 2
    assert "rows.json: expected what `make bench-planners` leaves there, got no file; run" in capsys.readouterr().err
