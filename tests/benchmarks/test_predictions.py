"""The benchmark of predictions: errors are counted as its goals say, and a busy machine is refused."""

from __future__ import annotations

import pytest

from benchmarks import predictions
from benchmarks.predictions import PlannedStep
from netpart.proto.reader import read_job_text


def test_the_goals_are_of_the_median_and_of_the_tail() -> None:
    errors = [0.01] * 11 + [0.06] * 8 + [0.5]
    middle, tail = predictions._error_rows(errors)
    assert (middle.netpart, tail.netpart) == (0.01, 0.06)
    assert not middle.missed
    assert not tail.missed
    middle, tail = predictions._error_rows([0.2, *errors])
    assert tail.netpart == 0.2
    assert tail.missed


def test_an_error_is_relative_to_the_measured_median() -> None:
    step = PlannedStep("net", read_job_text(""), 1.1, [1.0, 5.0, 0.5])
    assert step.error == pytest.approx(0.1)
    assert step.row.peer == 1.0


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(predictions, "again_on_one_thread", lambda module: None)
    monkeypatch.setattr(predictions, "look", lambda: 1.5)
    monkeypatch.setattr("sys.argv", ["predictions"])
    assert predictions.main() == 1
    assert "1.50 of " in capsys.readouterr().err
