"""Curves of runs: the metrics that one or several runs have reported, as an SVG with one chart per metric.

A run has a colour; what it trained on is a line, validations are hollow marks, tests are full ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil, isfinite
from pathlib import Path
from typing import Any

from netpart.choices import TRAIN, VALIDATION
from netpart.draw.chart import Curve, marked_chart, stack_charts
from netpart.errors import ConfigError, DataError, os_error_text
from netpart.files import read_file

METRICS_FILE = "metrics.jsonl"
ACROSS = {"step": "training steps", "seconds": "seconds", "epoch": "epochs"}
"""What a curve may be drawn over, and the name of that axis."""
POINTS = 1000
"""Largest number of points of a curve; of more, as many at even distances are drawn."""


@dataclass(frozen=True)
class RunReport:
    """One line of metrics.jsonl: metrics by name, and where the run was: its step, seconds and, if known, epoch."""

    phase: str
    metrics: Mapping[str, float]
    step: float
    seconds: float
    epoch: float | None

    def at(self, across: str) -> float | None:
        """The coordinate on the axis ``across``."""
        value: float | None = getattr(self, across)
        return value


@dataclass(frozen=True)
class RunHistory:
    """The reports of one run, which is called by its folder."""

    name: str
    reports: Sequence[RunReport]

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics, in the order of their first reports."""
        return list(dict.fromkeys(name for report in self.reports for name in report.metrics))

    def points(self, phase: str, metric: str, across: str) -> list[tuple[float, float]]:
        """The finite values of ``metric`` over the axis ``across``."""
        of_phase = ((r.at(across), r.metrics.get(metric)) for r in self.reports if r.phase == phase)
        found = [(x, y) for x, y in of_phase if x is not None and y is not None and isfinite(y)]
        return found[:: max(1, ceil(len(found) / POINTS))]


def read_history(path: Path) -> RunHistory:
    """Read the metrics of the run in the folder ``path``, or of the file itself. Raises DataError."""
    file = path / METRICS_FILE if path.is_dir() else path
    try:
        text = read_file(file).decode("utf-8", "replace")
    except OSError as error:
        hint = "name the workspace of a run, which `netpart run` prints and --workspace chooses"
        raise DataError(f"{path}: expected a folder with {METRICS_FILE}, got {os_error_text(error)}; {hint}") from error
    reports = list(_continue_seconds(_read_reports(text)))
    if not reports:
        raise DataError(f"{file}: expected reports of metrics, got none; wait for the first, every disp_freq steps")
    return RunHistory(str(path), reports)


def _read_reports(text: str) -> Iterator[RunReport]:
    """The reports among the lines of a file; others are decisions, or cut off where a run was killed."""
    for line in text.splitlines():
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found: dict[str, Any] = json.loads(line)
            metrics = {name: float(value) for name, value in found["metrics"].items()}
            epoch = found.get("epoch")
            yield RunReport(
                str(found["phase"]), metrics, float(found["step"]), float(found["seconds"]),
                None if epoch is None else float(epoch),
            )  # fmt: skip


def _continue_seconds(reports: Iterable[RunReport]) -> Iterator[RunReport]:
    """``reports`` with the seconds of a resumed run, which begin at 0 again, after those before it."""
    before = last = 0.0
    for report in reports:
        if report.seconds < last:
            before += last
        last = report.seconds
        yield RunReport(report.phase, report.metrics, report.step, before + last, report.epoch)


def plot_runs(runs: Sequence[RunHistory], patterns: Sequence[str] = (), across: str = "step") -> str:
    """An SVG with a chart of each metric that one of ``patterns`` matches (none: all), over the axis ``across``.

    Raises ConfigError if there is nothing to draw.
    """
    names = list(dict.fromkeys(name for run in runs for name in run.metrics))
    chosen = [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not chosen:
        raise ConfigError("--metric", f"one of {', '.join(names)}", ", ".join(patterns), "patterns as in */loss work")
    charts = {name: _metric_curves(runs, name, across) for name in chosen}
    drawn = [marked_chart(name, ACROSS[across], name, curves, tight=True) for name, curves in charts.items() if curves]
    if not drawn:
        raise ConfigError("--x", "step or seconds", across, "no run has noted its epochs, as its data has no end")
    return stack_charts(drawn)


def _metric_curves(runs: Sequence[RunHistory], metric: str, across: str) -> dict[str, Curve]:
    """The curves of ``metric`` by their name: the run's, and the phase's if it has several."""
    found = {}
    for number, run in enumerate(runs):
        phases = dict.fromkeys(report.phase for report in run.reports if metric in report.metrics)
        for phase in phases:
            points = run.points(phase, metric, across)
            hollow = {x for x, _ in points} if phase == VALIDATION else ()
            name = run.name if len(phases) == 1 else f"{run.name} {phase}"
            if points:
                marked = phase != TRAIN or len(points) == 1
                found[name] = Curve(points, hollow, hue=number, marks=marked)
    return found
