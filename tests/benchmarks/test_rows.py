"""Rows of results: ratios, goals, and the other fields of the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.rows import Row, finish, write

FASTER = Row("copy", "peer", netpart=2.0, peer=3.0, goal=1.0)
SLOWER = Row("add", "peer", netpart=3.0, peer=2.0, unit="s/step", goal=1.0)
FREE = Row("add", "other", netpart=3.0, peer=2.0)


def test_a_ratio_above_one_is_netparts() -> None:
    assert FASTER.ratio == 1.5
    assert not FASTER.missed


def test_only_a_goal_can_be_missed() -> None:
    assert SLOWER.missed
    assert not FREE.missed
    assert finish([FASTER, FREE]) == 0


def test_a_missed_goal_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert finish([FASTER, SLOWER]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "add: 0.67 against peer, goal 1: missed"


def test_runs_shares_and_load_are_written_if_measured() -> None:
    row = Row("net", "peer", 1.0, 1.5, runs=(1.4, 1.6), shares=(0.6, 0.4), load=0.0)
    written = row.as_json()
    assert (written["runs"], written["shares"], written["load"]) == ((1.4, 1.6), (0.6, 0.4), 0.0)
    assert str(row) == "net: 1.50 (1.40 to 1.60) against peer"
    assert not {"runs", "shares", "load"} & FREE.as_json().keys()


def test_the_file_says_what_figures_depend_on(tmp_path: Path) -> None:
    write(tmp_path / "results" / "bench.json", [FASTER, SLOWER], ("numpy",), {"rounds": 3})
    written = json.loads((tmp_path / "results" / "bench.json").read_text())
    assert written.keys() == {"date", "machine", "versions", "rows", "rounds"}
    assert written["versions"]["numpy"] == np.__version__
    assert written["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert written["rows"][1] == {
        "work": "add", "against": "peer", "netpart": 3.0, "peer": 2.0, "unit": "s/step", "goal": 1.0, "ratio": 0.667,
    }  # fmt: skip
