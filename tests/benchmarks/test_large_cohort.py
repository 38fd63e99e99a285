"""The options of the large cohort fit the zoo's job."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.large_cohort import SUBJECTS, TESTS, large_cohort
from benchmarks.machine import ROOT
from benchmarks.narrow_accuracy import JOBS, train_job

FEW = 20


def test_each_scan_of_the_large_cohort_is_tested_once() -> None:
    """Half of the subjects are AD or NC, and a fifth of those is tested, ten scans at a time."""
    assert TESTS * 10 == SUBJECTS / 2 / 5


@pytest.mark.slow
def test_the_job_is_trained_on_the_cohort(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cohort"
    options = large_cohort(folder, FEW)
    assert f"making {FEW} phantoms" in capfd.readouterr().out
    assert len((folder / "ad-nc-train.csv").read_text().splitlines()) == 1 + FEW / 2 * 4 / 5
    assert large_cohort(folder, FEW) == options
    assert capfd.readouterr().out == ""
    short = ["--steps", "1", "--set", "test_freq=1", "--set", "test_steps=1"]
    # Two of its scans are for tests, so a mini-batch of ten has each five times.
    assert train_job(str(ROOT / JOBS["cohort"].conf), [*options, *short]) in (0, 50, 100)
