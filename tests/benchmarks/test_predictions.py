"""The benchmark of predictions: errors are counted as its goals say, and a busy machine is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import predictions
from benchmarks.predictions import PlannedStep
from benchmarks.step_times import new_cache
from netpart.graph.uncut import partition_uncut
from netpart.proto.reader import read_job_text
from tests.graph.jobs import HEAD, data, layer


def test_the_goals_are_of_the_median_and_of_the_tail() -> None:
    errors = [0.01] * 11 + [0.06] * 8 + [0.5]
    middle, tail = predictions._error_rows(errors)
    assert (middle.netpart, tail.netpart) == (0.01, 0.06)
    assert not middle.missed
    assert not tail.missed
    middle, tail = predictions._error_rows([0.2, *errors])
    assert tail.netpart == 0.2
    assert tail.missed


def test_medians_are_compared_with_quick_steps_and_the_drift_is_that_of_rounds() -> None:
    found = read_job_text(HEAD + data(4, more="") + layer("relu", "kReLU", "data") + "}")
    step = PlannedStep("net", found, partition_uncut(found.proto), [1.1, 9.0, 0.1], [[1.0, 1.0, 3.0], [4.0, 4.0, 4.0]])
    assert step.error == pytest.approx(0.1)
    assert step.drift == pytest.approx(3.0)
    assert (step.row.netpart, step.row.peer) == (1.1, 1.0)


def test_a_new_cache_ends_with_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("/somewhere", None):
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        if before is not None:
            monkeypatch.setenv("XDG_CACHE_HOME", before)
        with new_cache():
            inside = os.environ["XDG_CACHE_HOME"]
            assert inside != before
        assert os.environ.get("XDG_CACHE_HOME") == before
        assert not Path(inside).exists()


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(predictions, "again_on_one_thread", lambda module: None)
    monkeypatch.setattr(predictions, "look", lambda: 1.5)
    monkeypatch.setattr("sys.argv", ["predictions"])
    assert predictions.main() == 1
    assert "1.50 of " in capsys.readouterr().err
