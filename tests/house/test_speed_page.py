"""docs/speed-results.md has what the benchmarks found; the commands of it and of docs/speed.md are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from netpart.cli.main import make_parser
from tests.house.tree import ROOT
from tools.results_page import RESULTS
from tools.speed_page import PAGE, accuracy_table, filled, main, ratio_table

TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
MANUAL = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
ROWS = [
    {"work": "net", "against": "peer", "ratio": 2.0, "goal": 1.5, "netpart": 0.001, "peer": 0.002, "unit": "s/step"},
    {"work": "net: memory", "against": "peer", "ratio": 0.5, "goal": 1, "netpart": 2048, "peer": 1024, "unit": "B"},
    {
        "work": "run",
        "against": "peer",
        "ratio": 1.3,
        "goal": None,
        "netpart": 0.001,
        "peer": 0.0013,
        "unit": "s/step",
        "runs": [1.25, 1.4, 1.3],
        "shares": [0.5, 0.38],
        "load": 0.52,
    },
    {"work": "all", "against": "peer", "ratio": 1.2, "goal": None, "netpart": 1.0, "peer": 1.2, "unit": "of its time"},
]


def test_the_page_says_what_was_measured() -> None:
    assert main(["--check"]) == 0
    assert filled(ROOT) == TEXT


def test_a_table_is_made_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / RESULTS).mkdir(parents=True)
    (tmp_path / PAGE).write_text("before\n<!-- results: cpu -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    assert "`make bench-cpu`" in filled(tmp_path)
    about = {
        "date": "2026-01-02",
        "machine": {"processor": "P", "cores": 2},
        "versions": {"python": "3", "system": "L"},
    }
    (tmp_path / RESULTS / "cpu.json").write_text(json.dumps(about | {"rows": ROWS}), encoding="utf-8")
    page = filled(tmp_path)
    assert page.startswith("before\n<!-- results: cpu -->\n2026-01-02, P, 2 cores; python 3.\n")
    assert "| net | peer | 1.0 ms | 2.0 ms | 2.00 | 1.50 | – |" in page
    assert "| net: memory | peer | 2.0 KiB | 1.0 KiB | 0.50 (missed) | 1.00 | – |" in page
    assert "| run | peer | 1.0 ms | 1.3 ms | 1.30 (1.25–1.40) (busy: 0.5 cores) | – | 0.50 / 0.38 |" in page
    assert "| all | peer | 1.00 of its time | 1.20 of its time | 1.20 | – | – |" in page
    assert "old" not in page


def test_accuracies_are_shown_seed_by_seed_and_where_they_were_measured() -> None:
    where = {"date": "2026-01-02", "processor": "P", "kernels": "auto"}
    row = {"work": "net", "float32": [90.0, 91.25], "bfloat16": [89.0, 91.0], "points": -0.625, "standard_error": 0.375}
    assert accuracy_table({"rows": [row | where]}).endswith(
        "| net | 90.0 91.2 | 89.0 91.0 | -0.62 ± 0.38 (missed) | 2026-01-02, P |\n"
    )
    alone = {"work": "net", "float32": [90.0], "bfloat16": [91.0], "points": 1.0, "standard_error": 0.0}
    assert accuracy_table({"rows": [alone | where | {"kernels": "reference"}]}).endswith(
        "| net | 90.0 | 91.0 | +1.00 | 2026-01-02, P, reference kernels |\n"
    )


def test_ratios_of_another_machine_have_a_line_for_each_net() -> None:
    about = {"date": "2026-01-02", "machine": {"processor": "P", "cores": 2}, "versions": {}}
    one = {
        "work": "net, batch 2, 1 thread",
        "against": "PyTorch eager",
        "ratio": 1.5,
        "goal": 1.2,
        "shares": [0.6, 0.4],
    }
    two = one | {"work": "net, batch 2, 2 threads", "ratio": 1.1, "runs": [1.0, 1.25]}
    peak = one | {"against": "the GEMM peak", "ratio": 0.6}
    memory = one | {"work": "net, batch 2, 1 thread: memory"}
    page = ratio_table(about | {"rows": [one, peak, memory, two]})
    assert page.splitlines()[2:] == [
        "| net | 1 thread | 2 threads |",
        "|---|--:|--:|",
        "| net, batch 2 | 1.50; 0.60 / 0.40 | 1.10 (1.00–1.25) (missed); 0.60 / 0.40 |",
    ]


@pytest.mark.parametrize("command", re.findall(r"^netpart (profile .*?)(?:   |$)", MANUAL, flags=re.MULTILINE))
def test_its_commands_are_understood(command: str) -> None:
    assert make_parser().parse_args(command.split()).job == "job.conf"


def test_its_benchmarks_are_there() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in re.findall(r"make\s+(bench-\w+)", TEXT):
        assert f"\n{name}: " in rules
