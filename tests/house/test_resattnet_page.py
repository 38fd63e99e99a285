"""docs/resattnet.md: its tables and charts say what the benchmark found, its code is what ran."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from netpart.cli.main import make_parser
from tests.benchmarks.test_hybrid import FIGURES, NET, found
from tests.house.tree import ROOT
from tools.resattnet_page import PAGE, SECTIONS, charts, main, section

TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
ABOUT = {"date": "2026-01-02", "machine": {"processor": "P", "cores": 2}, "versions": {"python": "3", "system": "L"}}


def test_page_and_charts_say_what_was_measured() -> None:
    assert main(["--check"]) == 0


def test_every_section_has_its_place() -> None:
    assert set(re.findall(r"<!-- results: (\w+) -->", TEXT)) == {*SECTIONS, "code"}
    assert "def gather(" in section(None, "code")
    assert "`make bench-hybrid`" in section(None, "times")


def test_tables_are_made_of_results() -> None:
    page = {name: section(ABOUT | found(), name) for name in SECTIONS}
    assert page["head"] == "2026-01-02, P, 2 cores; python 3.\n"
    assert "| 3D-ResAttNet18 | AD against NC | 12 | 95.0% (6) | 92.5% (8) | not measured |" in page["accuracies"]
    assert "| 2 | 10.0 s (1.60) | – | – | – | 20.0 s (1.20) | – |" in page["times"]
    assert "| 4 | ~ 6.4 s (2.50) | – | – | – | ≥ 8.0 s (≤ 3.00) | – |" in page["times"]
    assert "| 3D-ResAttNet18 | AD against NC | 2 | 2.38 | 1.60 | 1.20 | – |" in page["paper"]
    assert "| 3D-ResAttNet18 | GABRA + hybrid | 2 | 250.0 ms | 200.0 ms | -20.0% |" in page["errors"]
    assert "| 3D-ResAttNet18 | 2 | 2 | 0, 1 |" in page["plans"]


def test_charts_mark_what_was_not_measured() -> None:
    drawn = charts(FIGURES)
    assert set(drawn) == {f"docs/images/charts/{NET.name}-{name}.svg" for name in ("speedup", "epoch")}
    assert 'fill="white"/>' in drawn[f"docs/images/charts/{NET.name}-epoch.svg"]


def test_its_commands_are_there() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in re.findall(r"make (bench-\w+|resattnet-page)", TEXT):
        assert f"\n{name}: " in rules
    (command,) = re.findall(r"`netpart (plan [^`]+)`", TEXT)
    args = make_parser().parse_args(shlex.split(command))
    assert (args.workers, args.group, args.take) == (4, 2, "gabra profit")
    assert Path(ROOT / args.job).exists()
