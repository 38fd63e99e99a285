"""docs/planning.md tells the truth: what it shows is what the commands print, and its picture is what GABRA does."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from netpart.cli.main import main
from netpart.cli.plan import draw_convergence
from netpart.families import PLANNERS
from netpart.graph.build import build_net
from netpart.plan.price.devices import read_devices
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.search.planners import OPTIMAL
from netpart.plan.search.task import PlanningTask
from netpart.proto.reader import read_job
from tests.house.tree import ROOT
from tests.thorough import sampled

PAGE = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (netpart .*)\n((?:.*\n)+?)```$", PAGE, flags=re.MULTILINE)
SHOWN.sort(key=lambda shown: "--profile" not in shown[0])  # a plan of measured layers is the shortest to make


@pytest.mark.parametrize(("command", "output"), sampled(SHOWN, len(SHOWN)), ids=[command for command, _ in SHOWN])
def test_a_command_of_the_page_prints_what_it_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)[1:]) == 0
    assert without_memory(capsys.readouterr().out).startswith(without_memory(output.removesuffix("...\n")))


def without_memory(text: str) -> str:
    """``text`` without the memory of plans: the workspace of kernels is that of the processor."""
    return re.sub(r"(?m)^(.{50,}\d [KMG]?i?B +)[\d.]+ [KMG]?i?B", r"\1", text)


def test_the_page_names_every_planner() -> None:
    (section,) = re.findall(r"## Planners\n(.*?)\n##", PAGE, flags=re.DOTALL)
    named = {
        name.strip() for row in re.findall(r"^\| ([^|]+) \|", section, flags=re.MULTILINE) for name in row.split(",")
    }
    assert OPTIMAL in named  # imported, as its module registers all planners
    assert named - {"plan", "---"} == {re.sub(" (profit|makespan)$", "", name) for name in PLANNERS.names()}


def test_the_picture_is_fresh() -> None:
    job = read_job(ROOT / "graphs" / "resnet" / "resnet34.conf")
    devices = read_devices(ROOT / "workers" / "two-speeds.conf")
    drawn = draw_convergence(
        PlanningTask(profile_net(build_net(job.proto, "train", job.folder), 4), devices, seed=job.proto.seed)
    )
    assert drawn == (ROOT / "docs" / "images" / "charts" / "gabra.svg").read_text(encoding="utf-8")


def test_the_figures_are_those_that_were_measured() -> None:
    found = json.loads((ROOT / "benchmarks" / "results" / "planners.json").read_text(encoding="utf-8"))
    told = "On {problems} random problems of {partitions} partitions and {devices} devices".format(**found["settings"])
    text = re.sub(r"\s+", " ", PAGE)
    assert told in text
    behind = found["summary"].pop("best heuristic behind CP-SAT on the makespan")
    assert f"always within {behind:.2%} of CP-SAT" in text
    for name, figures in found["summary"].items():
        assert row(name, figures) in PAGE.splitlines()


def row(name: str, figures: dict[str, float]) -> str:
    """A planner's line of the table."""
    gaps = " | ".join(f"{figures[gap] * 100:.3f} %" for gap in ("mean_gap", "largest_gap"))
    times = " | ".join(f"{figures[time]:.2f} s" for time in ("mean_seconds", "most_seconds"))
    return f"| {name} | {figures['legal']} | {gaps} | {times} |"
