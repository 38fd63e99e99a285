"""netpart profile: tables, JSON, and traces to look at."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import Netpart

QUICK = "--steps", 2, "--launcher", "threads", "--workers", 2


def test_tables_of_layers_workers_and_memory(netpart: Netpart, job: Path) -> None:
    answer = netpart("profile", job, *QUICK)
    assert answer.code == 0, answer.err
    first, _, heading, *rows = answer.out.splitlines()
    assert first.startswith("small: 2 workers, batch 8, 2 steps; a step takes ")
    assert heading.split()[:4] == ["layer", "type", "forward", "backward"]
    assert [row.split()[0] for row in rows[:4]] == ["data", "conv", "ip", "loss"]
    assert any(row.split()[:2] == ["worker", "parameters"] for row in rows)
    assert any(row.startswith("worker 1: most of the arena, ") for row in rows)


def test_the_wait_for_rows_has_a_line_a_column_and_a_hint(netpart: Netpart, job: Path) -> None:
    slow = "--set", "data.store_conf.shape[1]=200", "--set", "data.store_conf.shape[2]=200"
    found = json.loads(netpart("profile", job, *QUICK, *slow, "--json").out)
    (wait,) = found["data"]
    assert (wait["name"], wait["type"]) == ("data", "kSyntheticInput")
    assert wait["seconds"] == max(worker["reading"] for worker in found["workers"]) > 0
    assert wait["share"] > 0.1
    assert wait["hint"].startswith("write synthetic_conf { batches: 16 }")
    lines = netpart("profile", job, *QUICK, *slow).out.splitlines()
    assert any(line.startswith("data: a step waits ") and line.endswith("% of the step") for line in lines)
    assert any("% of a step is the wait for rows of data; write synthetic_conf" in line for line in lines)
    assert any(line.split()[:3] == ["worker", "step", "reading"] for line in lines)


def test_json(netpart: Netpart, job: Path) -> None:
    found = json.loads(netpart("profile", job, *QUICK, "--json").out)
    assert found["steps"] == 2
    assert [layer["name"] for layer in found["layers"]] == ["data", "conv", "ip", "loss"]
    assert [memory["worker"] for memory in found["memory"]] == [0, 1]


def test_a_trace_for_perfetto_and_a_drawing(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    trace, drawing = tmp_path / "deep" / "trace.json", tmp_path / "trace.svg"
    assert netpart("profile", job, *QUICK, "-o", trace).code == 0
    assert {e["pid"] for e in json.loads(trace.read_text())["traceEvents"]} == {0, 1}
    assert netpart("profile", job, *QUICK, "-o", drawing).code == 0
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


def test_a_trace_of_another_kind_is_refused(netpart: Netpart, job: Path) -> None:
    answer = netpart("profile", job, "-o", "trace.pdf")
    assert answer.code == 2
    assert "expected a name that ends with .json or .svg, got 'trace.pdf'" in answer.err


def test_nothing_is_left_in_the_workspace(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    netpart("profile", job, *QUICK)
    assert list(tmp_path.iterdir()) == [job]
