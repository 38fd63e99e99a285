"""docs/resattnet.md: its tables and charts say what the benchmark found, its code is what ran."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.figures import PEERS, REACH, Figures
from benchmarks.load import QUIET
from netpart.cli.main import make_parser
from netpart.units import seconds_text
from tests.benchmarks.test_hybrid import ABOUT, FIGURES, NET, found
from tests.house.tree import ROOT
from tools.resattnet_page import PAGE, SECTIONS, charts, main, section
from tools.resattnet_tables import PAPER, TITLES, UNTIMED, UNTRAINED

TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
RESULTS: dict[str, Any] = json.loads((ROOT / "benchmarks/results/hybrid.json").read_text(encoding="utf-8"))


def test_page_and_charts_say_what_was_measured() -> None:
    assert main(["--check"]) == 0


def test_every_section_has_its_place() -> None:
    assert set(re.findall(r"<!-- results: (\w+) -->", TEXT)) == {*SECTIONS, "code"}
    assert "def gather(" in section(None, "code")
    assert "`make bench-hybrid`" in section(None, "times")


def test_tables_are_made_of_results() -> None:
    page = {name: section(ABOUT | found(), name) for name in SECTIONS}
    assert page["head"] == "2026-01-02, P, 2 cores; python 3.\n"
    assert page["accuracies"].startswith("2026-01-02, P, 2 cores; python 3.\n")
    cells = "95.0% (6 of 12) | 92.0% (8 of 12) | 70.0% (not in 12)"
    assert f"| 3D-ResAttNet18 | AD against NC | 80% | {cells} |" in page["accuracies"]
    assert "| 80.0% (3 of 3) | not trained | not trained |" in page["accuracies"]
    unknown = "not timed"
    assert (
        f"| 2 | 10.0 s (1.60) † | {unknown} | 8.0 s (2.00) | {unknown} | 20.0 s (1.20) | {unknown} |" in page["times"]
    )
    assert f"| 4 | ~ 6.4 s (2.50) | {unknown} | {unknown} | {unknown} | ≥ 8.0 s (≤ 3.00) | {unknown} |" in page["times"]
    row = f"| 1 min 20 s (1.20) † | {unknown} | 48.0 s (2.00) | {unknown} | not trained | {unknown} |"
    assert "| 3D-ResAttNet18 | AD against NC | 1 | 1 min 36 s (1.00) |" in page["equation13"]
    assert "| > 4 min 48 s (one worker: not in 12 epochs) |" in page["equation13"]
    assert f"| 3D-ResAttNet18 | AD against NC | 2 {row}" in page["equation13"]
    assert "| 3D-ResAttNet18 | AD against NC | 2 | 2.38 | 1.60 | 6 / 8 | 1.20 | 2.00 |" in page["paper"]
    assert "| 3D-ResAttNet18 | GABRA + hybrid | 2 | 250.0 ms | 200.0 ms | -20.0% |" in page["errors"]
    assert "| 3D-ResAttNet18 | 2 | 2 | 0, 1 |" in page["plans"]


def test_the_head_has_all_days() -> None:
    days = found()
    for point, day in zip(days["points"], ("2026-01-03", "2026-01-05", "2026-01-04"), strict=False):
        point["date"] = day
    assert section(ABOUT | days, "head").startswith("2026-01-03 to 2026-01-05, P")


def test_the_load_of_others_is_shown() -> None:
    page = section(ABOUT | found(), "load")
    assert "| 1 | while others used at most 0.1 cores |" in page
    assert "| 1 | while others used more: marked † |" in page
    assert "| 5 | before the load of others was recorded |" in page
    assert "| 3D-ResAttNet18 | GABRA + hybrid | 0.02 | 0.31 † |" in page
    began = found()
    began["settings"]["load_at_start"] = 1.83
    assert "load average was 1.83, which counts the benchmark" in section(ABOUT | began, "load")


def test_what_is_slower_is_said_with_its_reasons() -> None:
    page = section(ABOUT | found(), "slower")
    assert "slower than data parallelism in **1 of 1** rows" in page
    assert "1.25 times as long. Its workers wait for 40% to 40% of a step" in page
    reasons = "40% of a step | 1.25 × the mean | 2.0 KiB in 18 messages | 4.0 KiB in 1 090 messages"
    assert f"| 3D-ResAttNet18 | 2 | all rows | 250.0 ms † | 200.0 ms | **1.25 ×** | {reasons} |" in page


def seconds(net: str, task: str, way: str, workers: int) -> float:
    """T · TS · E, worked out anew from the points and trainings of the results."""
    settings = RESULTS["settings"]
    name = ("ddp" if way in PEERS else "data") if workers == 1 else way
    (point,) = (p for p in RESULTS["points"] if (p["net"], p["way"], p["workers"]) == (net, name, workers))
    shares: Mapping[str, int] = {"data": 1, "hybrid": settings["micro_batches"]}
    if name == "hybrid-local":
        shares = {name: settings["micro_batches"] * len(point["plan"]["groups"][0])}
    key = net, task, "PyTorch" if way in PEERS else "netpart", settings["batch"] // shares.get(name, workers)
    (found,) = (t["accuracies"] for t in RESULTS["trainings"] if (t["net"], t["task"], t["who"], t["rows"]) == key)
    epochs = len(found)
    while epochs > 1 and min(found[epochs - 2 :]) >= REACH[task]:
        epochs -= 1
    return float(point["seconds"] * settings["steps_per_epoch"] * epochs)


def test_equation_13_is_in_every_row() -> None:
    table = re.findall(r"^\| (3D-\S+) \| ([^|]+) \| (\d) \| (.*) \|$", section(RESULTS, "equation13"), re.MULTILINE)
    assert len(table) == len(RESULTS["titles"]) * 2 * 4
    names = {title: net for net, title in RESULTS["titles"].items()}
    for title, of, count, cells in table:
        net = names[title]
        task = "ad" if of.startswith("AD") else "mci"
        workers = int(count)
        for way, cell in zip(TITLES, cells.split(" | "), strict=True):
            own, one = seconds(net, task, way, workers), seconds(net, task, way, 1)
            assert seconds_text(own) in cell, (net, task, way, workers)
            assert f"{one / own:.2f})" in cell


def test_no_result_of_the_paper_is_without_equation_13() -> None:
    rows = [line.strip("|").split("|") for line in section(RESULTS, "paper").splitlines()[2:] if line]
    assert len(rows) == len(PAPER) * 3
    for row, ((net, task), workers) in zip(rows, ((key, w) for key in PAPER for w in (2, 4, 8)), strict=True):
        one, many = (seconds(net, task, "hybrid", count) for count in (1, workers))
        assert float(row[6]) == pytest.approx(one / many, abs=0.006)  # both reach the accuracy
        assert float(row[7]) == pytest.approx(Figures(RESULTS).speedup(net, "data", workers), abs=0.006)
    tables = "".join(section(RESULTS, name) for name in ("paper", "equation13", "accuracies", "times"))
    assert [word for word in ("–", UNTIMED, UNTRAINED) if word in tables] == []


def test_accuracies_to_reach_are_what_the_page_says_and_our_nets_have_them_on_one_worker() -> None:
    assert f"{REACH['ad']:.0%}".replace("%", " % for AD against NC") in TEXT
    assert f"{REACH['mci']:.0%}".replace("%", " % for pMCI against sMCI") in TEXT
    batch = RESULTS["settings"]["batch"]
    alone = [t for t in RESULTS["trainings"] if t["rows"] == batch and t["who"] == "netpart"]
    assert len(alone) == 4
    assert all(t["accuracies"][-1] >= REACH[t["task"]] for t in alone)


def test_a_loaded_machine_is_what_the_page_says() -> None:
    assert f"More than {QUIET:g} cores" in TEXT


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
