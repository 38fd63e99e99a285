"""The wait for near cores: which runs are repeated, and what a handover between two processes takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import core_distance
from benchmarks.core_distance import RUNS, NearCores, handover_seconds

NEAR, FAR = 5e-6, 13e-6


def cores(*seconds: float) -> NearCores:
    """Cores whose handovers take ``seconds``, one after another."""
    found: Iterator[float] = iter(seconds)
    return NearCores(lambda: next(found), NEAR)


def test_a_run_on_near_cores_counts() -> None:
    near = cores(NEAR, 1.5 * NEAR)
    assert near.steady(lambda: "run") == "run"
    assert near.counts() == {"repeated_as_cores_were_apart": 0, "counted_though_cores_were_apart": 0}


def test_a_run_is_repeated_if_the_cores_were_apart_after_it() -> None:
    near = cores(NEAR, FAR, NEAR, NEAR)
    runs = iter(("first", "second"))
    assert near.steady(lambda: next(runs)) == "second"
    assert (near.repeated, near.accepted) == (1, 0)


def test_a_run_starts_when_the_cores_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_distance, "PAUSE", 0.0)
    looks = [FAR, FAR, NEAR, NEAR]
    near = NearCores(lambda: looks.pop(0), NEAR)
    assert near.steady(lambda: len(looks)) == 1  # only the look after the run is left
    assert near.repeated == 0


def test_cores_that_stay_apart_end_the_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_distance, "PATIENCE", 0.05)
    runs: list[int] = []
    near = NearCores(lambda: FAR, NEAR)
    near.steady(lambda: runs.append(1))
    assert len(runs) == RUNS
    assert (near.repeated, near.accepted) == (RUNS - 1, 1)


def test_long_runs_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_distance, "PATIENCE", -1.0)
    near = NearCores(lambda: FAR, NEAR)
    near.steady(lambda: None)
    assert (near.repeated, near.accepted) == (0, 1)


def test_the_quickest_handover_so_far_is_what_others_are_compared_with() -> None:
    near = NearCores(iter((FAR, NEAR, FAR)).__next__)
    assert [near.apart() for _ in range(3)] == [False, False, True]
    assert near.quickest == NEAR


def test_two_processes_hand_over_memory() -> None:
    found = handover_seconds()
    assert found == 0.0 or 1e-7 < found < 0.01
