"""Curves of runs: what is read of metrics.jsonl, and where the curves of a drawing go."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from netpart.errors import ConfigError, DataError
from netpart.measure.run_curves import POINTS, plot_runs, read_history

SVG = "{http://www.w3.org/2000/svg}"


def write_run(folder: Path, *lines: dict[str, object] | str) -> Path:
    folder.mkdir()
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "metrics.jsonl").write_text("\n".join(texts))
    return folder


def report(step: int, loss: float, phase: str = "train", **more: object) -> dict[str, object]:
    return {"phase": phase, "step": step, "metrics": {"loss/loss": loss}, "seconds": step / 10} | more


def curves(drawing: str) -> list[list[tuple[float, ...]]]:
    """The points of each curve, in pixels."""
    lines = ElementTree.fromstring(drawing).iter(f"{SVG}polyline")
    return [[tuple(map(float, p.split(","))) for p in line.get("points", "").split()] for line in lines]


def texts(drawing: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def test_each_metric_has_a_chart_and_each_run_a_curve(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", report(10, 4.0), report(20, 2.0), report(30, 1.0))
    two = write_run(tmp_path / "two", report(10, 4.0), report(30, 4.0, metrics={"loss/loss": 4.0, "acc/top": 0.5}))
    drawing = plot_runs([read_history(one), read_history(two)])
    first, flat, _ = curves(drawing)
    assert [x for x, _ in first] == sorted(x for x, _ in first)
    assert first[1][0] == (first[0][0] + first[2][0]) / 2
    assert first[0][1] < first[1][1] < first[2][1]  # y points down
    assert flat == [(first[0][0], first[0][1]), (first[2][0], first[0][1])]
    assert {"loss/loss", "acc/top", str(one), str(two), "training steps"} <= set(texts(drawing))


def test_phases_have_curves_of_their_own_in_the_colour_of_their_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", report(1, 2.0), report(2, 1.0), report(2, 1.5, "val"), report(2, 1.2, "test"))
    drawing = plot_runs([read_history(run)])
    assert [len(curve) for curve in curves(drawing)] == [2, 1, 1]
    assert {f"{run} {phase}" for phase in ("train", "val", "test")} <= set(texts(drawing))
    lines = ElementTree.fromstring(drawing).iter(f"{SVG}polyline")
    assert len({line.get("stroke") for line in lines}) == 1
    # A mark of the validation is hollow, that of the test full; each is in the legend, too.
    fills = [mark.get("fill") for mark in ElementTree.fromstring(drawing).iter(f"{SVG}circle")]
    assert fills.count("white") == 2
    assert len(fills) == 4


def test_seconds_of_a_resumed_run_go_on(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", report(10, 3.0), report(20, 2.0), report(30, 1.0, seconds=0.5))
    assert read_history(run).points("train", "loss/loss", "seconds") == [(1.0, 3.0), (2.0, 2.0), (2.5, 1.0)]


def test_what_is_no_report_is_left_out(tmp_path: Path) -> None:
    judged = {"phase": "val", "step": 3, "decides": "best", "metric": "loss/loss"}
    diverged = report(2, float("nan"))
    run = write_run(tmp_path / "run", report(1, 3.0), diverged, judged, "[1]", '{"phase": "tra')
    assert read_history(run).points("train", "loss/loss", "step") == [(1.0, 3.0)]


def test_long_runs_are_thinned(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", *(report(step, 1.0) for step in range(3 * POINTS)))
    points = read_history(run).points("train", "loss/loss", "step")
    assert len(points) == POINTS
    assert points[1][0] == 3


def test_metrics_are_chosen_by_patterns(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", report(1, 1.0, metrics={"a/loss": 1.0, "b/loss": 2.0, "a/accuracy": 0.5}))
    titles = set(texts(plot_runs([read_history(run)], ["*/loss"])))
    assert {"a/loss", "b/loss"} <= titles
    assert "a/accuracy" not in titles
    with pytest.raises(ConfigError, match="--metric: expected one of a/loss, b/loss, a/accuracy, got c"):
        plot_runs([read_history(run)], ["c"])


def test_epochs_are_drawn_where_they_are_known(tmp_path: Path) -> None:
    known = read_history(write_run(tmp_path / "known", report(10, 3.0, epoch=0.5)))
    unknown = read_history(write_run(tmp_path / "unknown", report(10, 3.0, epoch=None)))
    assert known.points("train", "loss/loss", "epoch") == [(0.5, 3.0)]
    assert len(curves(plot_runs([known, unknown], across="epoch"))) == 1
    with pytest.raises(ConfigError, match="--x: expected step or seconds, got epoch"):
        plot_runs([unknown], across="epoch")


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"expected a folder with metrics\.jsonl, got nothing there; name the workspace"
    ):
        read_history(tmp_path / "none")
    with pytest.raises(DataError, match=r"metrics\.jsonl: expected reports of metrics, got none; wait for the first"):
        read_history(write_run(tmp_path / "early", ""))
