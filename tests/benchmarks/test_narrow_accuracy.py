"""Accuracies in two precisions are compared seed by seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.machine import ROOT
from benchmarks.narrow_accuracy import JOBS, PACKAGES, compare_accuracies, title_order
from benchmarks.rows import keep_rows, kept_rows


def test_the_mean_over_seeds_counts() -> None:
    found = compare_accuracies([90.0, 92.0, 94.0], [90.5, 91.0, 95.0])
    assert found["points"] == pytest.approx(0.5 / 3, abs=1e-3)
    squares = (0.5 - 1 / 6) ** 2 + (7 / 6) ** 2 + (5 / 6) ** 2
    assert found["standard_error"] == pytest.approx((squares / 6) ** 0.5, abs=1e-3)


def test_one_seed_shows_no_error() -> None:
    assert compare_accuracies([90.0], [89.0]) == {"points": -1.0, "standard_error": 0.0}


def test_a_job_that_is_measured_again_replaces_its_row(tmp_path: Path) -> None:
    path = tmp_path / "results" / "accuracy.json"
    lenet, gpt = ({"work": JOBS[name].title, "points": 0.0} for name in ("lenet", "gpt"))
    for row in (gpt, lenet, gpt | {"points": 0.25}):
        keep_rows(path, PACKAGES, [row], title_order)
    assert kept_rows(path) == [lenet, gpt | {"points": 0.25}]


def test_its_jobs_are_there() -> None:
    assert all((ROOT / job.conf).exists() for job in JOBS.values())
