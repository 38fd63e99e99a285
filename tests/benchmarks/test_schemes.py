"""What the benchmark of the schemes makes of its measurements: which works, how many steps, medians, ratios, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from benchmarks import report
from benchmarks.contenders import CONTENDERS, MPI, TORCH, WARM_UP, Bench, Found, Timed
from benchmarks.crossovers import Sweep, square
from benchmarks.mlp import Work
from benchmarks.schemes import BATCHES, MOST, WIDTHS, grid, sized, sweep, time

WORK = square(64, 8)
COSTS = {name: float(n) for n, name in enumerate(CONTENDERS, start=1)}


class Scripted:
    """A substitute of Bench: a contender takes its number in COSTS, longer from run to run."""

    def __init__(self, **losses: float) -> None:
        self.losses, self.ran = losses, list[str]()

    def prepare(self, work: Work) -> Work:
        return work

    def run(self, contender: str, work: Work) -> Found:
        self.ran.append(contender)
        seconds = COSTS[contender] + self.ran.count(contender) / 10
        return Found([seconds] * 5, self.losses.get(contender, 2.0), calls=3, bytes=work.batch)


def timed(bench: Scripted, *contenders: str, rounds: int = 3) -> Timed:
    return time(cast("Bench", bench), WORK, contenders or CONTENDERS, rounds)


def test_the_grid_has_a_row_and_a_column_and_in_full_everything() -> None:
    few, full = list(grid(full=False)), list(grid(full=True))
    assert len(full) == 2 * len(WIDTHS) * len(BATCHES)
    assert {(w.widths[0], w.batch) for w in few if w.workers == 2} == (
        {(width, 128) for width in WIDTHS} | {(1024, batch) for batch in BATCHES}
    )
    assert set(few) < set(full)


def test_large_works_take_few_steps() -> None:
    steps = [sized(square(width, 128)).steps for width in (16, *WIDTHS)]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == WARM_UP + MOST
    assert sized(square(256, 128, 4096)).steps < sized(square(256, 128)).steps


def test_contenders_take_turns_and_medians_are_over_all_rounds() -> None:
    bench = Scripted()
    found = timed(bench, "NAIVE", MPI).found
    assert bench.ran == ["NAIVE", MPI] * 3
    assert len(found["NAIVE"].seconds) == 15
    assert found["NAIVE"].median == COSTS["NAIVE"] + 0.2


def test_a_contender_that_computes_something_else_is_found() -> None:
    with pytest.raises(ValueError, match="same loss"):
        timed(Scripted(NAIVE=2.1))
    assert timed(Scripted(NAIVE=2.0001))


def test_the_results_say_who_was_how_much_faster_than_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PACKAGES", ("numpy",))
    along = Sweep(("NAIVE", "DATA"), "width", "a claim", (16, 64), lambda n: square(n, n))
    points = sweep(cast("Bench", Scripted()), along, 1)
    report.write(tmp_path / "results.json", [timed(Scripted())], [(along, points)], {"rounds": 3})
    written = json.loads((tmp_path / "results.json").read_text())
    assert written.keys() >= {"versions", "machine", "date", "rows"}
    naive, column_row = written["rows"]
    assert (naive["against"], column_row["against"]) == (MPI, TORCH)
    assert naive["ratio"] == pytest.approx(naive["peer"] / naive["netpart"], abs=1e-3)
    assert naive["peer"] == timed(Scripted()).found[MPI].median
    assert {row["contender"] for row in written["contenders"]} == set(CONTENDERS)
    (crossover,) = written["crossovers"]
    assert crossover["by_time"] == "DATA throughout"
    assert [point["at"] for point in crossover["points"]] == [16, 64]


def test_a_goal_is_missed_by_who_is_slower_than_the_peer() -> None:
    found = timed(Scripted())
    assert not report.missed([found])
    slower = replace(found.found["NAIVE"], seconds=[COSTS[MPI] * 2])
    (row,) = report.missed([Timed(WORK, found.found | {"NAIVE": slower})])
    assert row.against == MPI
