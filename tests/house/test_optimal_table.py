"""docs/planning.md: its table says what the comparison of optimal plans found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.optimal import faster_than
from tests.house.tree import ROOT
from tools.planning_page import PAGE, main, table
from tools.results_page import RESULTS
from tools.scale_table import scale_table

CASE = {
    "net": "lenet", "devices": "fast", "workers": 2, "layers": 9, "search": 1.2, "gap": 0.001,
    "optimal": [0.0012, 0.001],
    "others": {"data": [0.0011, 0.0015]}, "hand": {"rows": [0.004, None], "filters": "needs 9 bytes"}, "worse": [],
    "predicted worse": ["data 9.09%"],
}  # fmt: skip
PLACE = {"date": "2026-01-02", "machine": {"processor": "P", "cores": 2}, "versions": {"python": "3", "system": "L"}}


def table_of(root: Path, *rows: dict[str, Any]) -> str:
    (root / RESULTS).mkdir(parents=True)
    (root / RESULTS / "optimal.json").write_text(json.dumps(PLACE | {"rows": rows}), encoding="utf-8")
    return table(root, "optimal")


@pytest.mark.skipif(not (ROOT / PAGE).exists(), reason=f"{PAGE} is not there")
def test_the_page_says_what_was_found() -> None:
    assert main(["--check"]) == 0


def test_a_cell_has_the_simulated_step_and_the_next_best_plan(tmp_path: Path) -> None:
    text = table_of(tmp_path, CASE)
    assert "| lenet | 9 | 1.0 ms, +50.0% | – | – | – | – | – | 0.10% | 1 s |" in text
    assert "In none of these 1 cases" in text
    assert "- lenet, fast, 2 workers: data predicted -8.33%, simulated +50.00%" in text


def test_a_faster_plan_is_told(tmp_path: Path) -> None:
    assert "In 1 of these 1 cases a row" in table_of(tmp_path, CASE | {"worse": ["data 1.00%"]})


def test_seconds_are_compared_with_seconds_of_the_same_kind() -> None:
    """A plan that was not simulated is predicted to take more than `optimal`, though less than its simulation."""
    row = CASE | {"optimal": [0.0012, 0.0014], "others": {"data": [0.0013, None]}}
    assert list(faster_than(row, True)) == list(faster_than(row, False)) == []


def test_the_table_of_scale_says_what_is_over_its_goal() -> None:
    cell = {"net": "lenet", "workers": 64, "verb": "check", "seconds": 3.14, "mib": 1234, "within": True}
    rows = [cell, cell | {"verb": "plan", "seconds": 12.0, "within": False}]
    late = {"net": "lenet", "workers": 1024, "verb": "check", "ended_after": 300, "within": False}
    text = scale_table(PLACE | {"rows": [*rows, late]})
    assert "| lenet | 64 | 3.1 | – | 12.0 | – | 1,234 |" in text
    assert "| lenet | 1,024 | > 300 | – | – | – | – |" in text
    assert "- 64 workers: 1 of 2 figures within 10 s and 4,096 MiB; over it: `plan` of lenet 12.0." in text
