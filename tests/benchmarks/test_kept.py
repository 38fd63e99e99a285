"""Results of the use case: what has been measured stays, what has not is found, nothing is mixed that differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import use_case
from benchmarks.figures import MEASURED, Figures, Point, Trained
from benchmarks.hybrid import comparisons
from benchmarks.kept import Kept
from benchmarks.load import LoadedMachineError
from netpart.errors import ConfigError
from tests.benchmarks.test_hybrid import NET

SETTINGS = {"batch": 16, "micro_batches": 2, "steps": 6, "steps_per_epoch": 20}
ONE = Point(NET.name, "data", 1, 0.4, MEASURED, load=0.0)
TWO = Point(NET.name, "data", 2, 0.2, MEASURED, load=0.5)
OLD = Point(NET.name, "ddp", 1, 0.5, MEASURED)
TITLES = {NET.name: NET.title}


def kept(path: Path, *points: Point) -> Kept:
    """A file with points."""
    found = Kept(path, comparisons)
    found.add_points(points, SETTINGS, {"titles": TITLES})
    return found


@pytest.fixture(autouse=True)
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch need not be there."""
    monkeypatch.setattr("benchmarks.kept.PACKAGES", ("numpy",))


def test_what_was_timed_on_a_quiet_machine_is_not_timed_again(tmp_path: Path) -> None:
    found = kept(tmp_path / "f.json", ONE, TWO, OLD)
    assert found.timed([ONE.key])
    assert not found.timed([ONE.key, TWO.key])  # others used half a core
    assert found.timed([TWO.key], anyhow=True)
    assert not found.timed([OLD.key], anyhow=True)  # the load was not recorded
    assert not found.timed([(NET.name, "dp", 2)])


def test_a_point_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    kept(path, ONE, TWO)
    again = kept(path, Point(NET.name, "data", 2, 0.25, MEASURED, load=0.01))
    assert [(p.workers, p.seconds) for p in again.figures.points] == [(1, 0.4), (2, 0.25)]
    written = json.loads(path.read_text())
    assert [row["ratio"] for row in written["rows"]] == [1.6]
    assert "numpy" in written["versions"]
    assert list(tmp_path.iterdir()) == [path]


def test_trainings_and_timings_are_added_by_different_commands(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    timing, training = Kept(path, comparisons), Kept(path, comparisons)
    timing.add_points([ONE], SETTINGS, {"titles": TITLES})
    training.add_trained(Trained(NET.name, "ad", "netpart", 16, [0.5, 0.9]), TITLES)
    timing.add_points([TWO], SETTINGS, {"titles": TITLES})
    found = Kept(path, comparisons)
    assert found.trained([(NET.name, "ad", "netpart", 16)])
    assert len(found.figures.points) == 2
    assert not found.trained([(NET.name, "ad", "netpart", 8)])
    assert Figures(found.found).total(NET.name, "ad", "data", 2) == pytest.approx(0.2 * 20 * 2)
    found.forget([ONE.key, TWO.key], [])
    assert found.found["points"] == []
    assert len(found.found["trainings"]) == 1


def test_what_was_timed_otherwise_is_not_joined(tmp_path: Path) -> None:
    found = kept(tmp_path / "f.json", ONE)
    found.expect_same(SETTINGS)
    with pytest.raises(ConfigError, match=r"steps: expected 3, got 6; .*--again"):
        found.expect_same(SETTINGS | {"steps": 3})
    found.found["machine"]["processor"] = "another"
    with pytest.raises(ConfigError, match="machine"):
        found.expect_same(SETTINGS)


def test_a_step_is_timed_again_when_others_used_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: Any = iter([0.5, 0.0])
    monkeypatch.setattr("benchmarks.load.Watch.others", lambda _: next(loads))
    assert [p.load for p in use_case.quietly(lambda: iter([[ONE]]), anyhow=False)] == [0.0]
    loads = iter([0.5])
    assert [p.load for p in use_case.quietly(lambda: iter([[ONE]]), anyhow=True)] == [0.5]
    loads = iter([0.5] * use_case.TRIES)
    with pytest.raises(LoadedMachineError, match="timed 3 times: expected a quiet machine"):
        use_case.quietly(lambda: iter([[ONE]]), anyhow=False)
