"""Fills docs/resattnet.md, and draws its charts, with what benchmarks.hybrid found: run it after that.

python -m tools.resattnet_page            write page and charts anew from benchmarks/results/hybrid.json
python -m tools.resattnet_page --check    write nothing; exit 1 if they do not say what the file says
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

from benchmarks.accuracy import TASKS
from benchmarks.figures import BOUND, MARKS, MEASURED, Figures, Point, worst
from benchmarks.ways import WAYS
from netpart.draw.chart import Curve, marked_chart
from netpart.units import seconds_text
from tools import results_page
from tools.partition_drawing import drawing
from tools.results_page import ROOT, Json, about, keep, missing, results

PAGE = "docs/resattnet.md"
CHARTS = "images/charts"
PLAN = f"docs/{CHARTS}/resattnet-plan.svg"
PEER = "benchmarks/peers/torch_dp.py"
PEERS = {"ddp": "PyTorch DDP", "dp": "PyTorch DataParallel"}
TITLES = {name: way.title for name, way in WAYS.items()} | PEERS
PAPER = {
    ("resattnet18", "mci"): (34, 15, 13, 11, 10, 9, 7, 6),
    ("resattnet18", "ad"): (62, 26, 21, 18, 17, 15, 12, 11),
    ("resattnet34", "mci"): (37, 17, 14, 12, 11, 10, 8, 7),
    ("resattnet34", "ad"): (68, 29, 24, 21, 19, 16, 14, 12),
}
"""Minutes of training for 1 to 8 GPUs: Table 3 of the paper."""


def fresh(root: Path) -> dict[str, str]:
    """The page, Figure 4, and the charts if there are results: path -> content."""
    found = results(root, "hybrid")
    page = (root / PAGE).read_text(encoding="utf-8")
    files = {PAGE: results_page.filled(page, partial(section, found)), PLAN: drawing()}
    return files | ({} if found is None else charts(Figures(found)))


def section(found: Json | None, name: str) -> str:
    """What stands in a place of the page."""
    if name == "code":
        return code()
    if found is None:
        return missing("hybrid")
    return "\n".join([*SECTIONS[name](Figures(found)), ""])


def code() -> str:
    """How a step of DataParallel goes."""
    text = (ROOT / PEER).read_text(encoding="utf-8")
    shown = dedent(text[text.index("    def train(") : text.index("def main")]).strip()
    apart = shown.replace("\n\ndef ", "\n\n\ndef ")
    return f"```python\n{apart}\n```\n"


def head(figures: Figures) -> Iterator[str]:
    """What all figures depend on."""
    yield about(dict(figures.found))


def accuracies(figures: Figures) -> Iterator[str]:
    """The accuracy columns of Table 3, each trained once."""
    if not figures.found["accuracy"]:
        yield "Steps alone were timed (`ARGS=--no-training`). [mri.md](mri.md) has what the 18-layer nets reach."
        return
    pieces = figures.found["settings"]["micro_batches"]
    whos = {
        "netpart": ("netpart", 1),
        f"netpart, {pieces} micro-batches": ("netpart", pieces),
        "PyTorch": ("PyTorch", 1),
    }
    yield f"| net | task | epochs | {' | '.join(whos)} |"
    yield "|---|---|--:" + "|--:" * len(whos) + "|"
    for net, title in figures.found["titles"].items():
        for task in TASKS.values():
            trained = [figures.trained(net, task.name, *who) for who in whos.values()]
            if any(trained):
                epochs = next(each["epochs"] for each in trained if each)
                yield f"| {title} | {task.title} | {epochs} | {' | '.join(map(accuracy, trained))} |"


def accuracy(trained: Mapping[str, Any] | None) -> str:
    """An accuracy, and after how many epochs a test had what was to be reached."""
    if trained is None:
        return "not measured"
    reached = trained["epochs_to_reach"]
    return f"{trained['accuracy']:.1%} ({'–' if reached is None else f'{reached:g}'})"


def times(figures: Figures) -> Iterator[str]:
    """The time columns of Table 3: a table for each net."""
    for net, title in figures.found["titles"].items():
        yield f"**{title}**, seconds of an epoch (speed-up):"
        yield ""
        yield f"| workers | {' | '.join(TITLES.values())} |"
        yield "|--:" + "|--:" * len(TITLES) + "|"
        for workers in figures.workers(net):
            yield f"| {workers} | {' | '.join(time(figures, net, way, workers) for way in TITLES)} |"
        yield ""
        yield f"![Speed-up of {title}]({CHARTS}/{net}-speedup.svg)"
        yield f"![Seconds of an epoch of {title}]({CHARTS}/{net}-epoch.svg)"
        yield ""


def time(figures: Figures, net: str, way: str, workers: int) -> str:
    """Seconds of an epoch, how they are known, and the speed-up."""
    point, epoch, ratio = (f(net, way, workers) for f in (figures.point, figures.epoch, figures.speedup))
    if not isinstance(point, Point) or not isinstance(epoch, float) or not isinstance(ratio, float):
        return "–"
    most = "≤ " if point.how == BOUND else ""
    return f"{MARKS[point.how]}{seconds_text(epoch)} ({most}{ratio:.2f})"


def beside_the_paper(figures: Figures) -> Iterator[str]:
    """Speed-ups and equation 13 beside the paper's."""
    reach = figures.found["settings"]["reach"]
    yield f"| net | task | workers | paper | T1 / Tm | equation 13, to {reach:.0%} | data parallelism, T1 / Tm |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (net, task), minutes in PAPER.items():
        for workers in (w for w in figures.workers(net) if w in (2, 4, 8)):
            ratios = [
                figures.speedup(net, "hybrid", workers), figures.equation_13(net, task, "hybrid", workers),
                figures.speedup(net, "data", workers),
            ]  # fmt: skip
            cells = " | ".join("–" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
            title = f"{figures.found['titles'][net]} | {TASKS[task].title}"
            yield f"| {title} | {workers} | {minutes[0] / minutes[workers - 1]:.2f} | {cells} |"


def errors(figures: Figures) -> Iterator[str]:
    """How far the simulator is off where it can be held against a clock."""
    yield "| net | way | workers | measured | simulated | error |"
    yield "|---|---|--:|--:|--:|--:|"
    for point in figures.errors():
        title, way = figures.found["titles"][point.net], TITLES[point.way]
        measured, simulated = seconds_text(point.seconds), seconds_text(point.simulated or 0.0)
        yield f"| {title} | {way} | {point.workers} | {measured} | {simulated} | {point.error or 0.0:+.1%} |"
    yield ""
    yield f"The largest error is {worst(figures.points):.1%}."


def plans(figures: Figures) -> Iterator[str]:
    """What GABRA allocated for each number of workers."""
    yield "| net | workers | partitions | groups: workers joined by + share the rows |"
    yield "|---|--:|--:|---|"
    for point in figures.points:
        if point.way == "hybrid" and point.plan:
            groups = ", ".join("+".join(map(str, group)) for group in point.plan["groups"])
            yield f"| {figures.found['titles'][point.net]} | {point.workers} | {point.plan['partitions']} | {groups} |"


SECTIONS: dict[str, Callable[[Figures], Iterator[str]]] = {
    "head": head, "accuracies": accuracies, "times": times, "paper": beside_the_paper, "errors": errors,
    "plans": plans,
}  # fmt: skip


def charts(figures: Figures) -> dict[str, str]:
    """Figures 5 and 6 of each net: path -> SVG."""
    found = {}
    for net, title in figures.found["titles"].items():
        found[f"docs/{CHARTS}/{net}-speedup.svg"] = speedups(figures, net, title)
        found[f"docs/{CHARTS}/{net}-epoch.svg"] = epochs(figures, net, title)
    return found


def speedups(figures: Figures, net: str, title: str) -> str:
    """Figure 5."""
    workers = figures.workers(net)
    paper = [(w, PAPER[net, "ad"][0] / PAPER[net, "ad"][w - 1]) for w in workers]
    guides = {"linear": Curve([(w, w) for w in workers], guide=True), "the paper, AD against NC": Curve(paper)}
    curves = {TITLES[way]: curve(figures, net, way, figures.speedup) for way in WAYS}
    return marked_chart(
        f"{title}: speed-up over one worker", "workers (hollow: simulated)", "speed-up", curves | guides
    )


def epochs(figures: Figures, net: str, title: str) -> str:
    """Figure 6."""
    curves = {name: curve(figures, net, way, figures.epoch) for way, name in TITLES.items()}
    across = "workers (hollow: simulated; of PyTorch: no less than that)"
    return marked_chart(f"{title}: seconds of an epoch", across, "seconds", curves)


def curve(figures: Figures, net: str, way: str, value: Callable[[str, str, int], float | None]) -> Curve:
    """A figure of one way along the workers."""
    points = [(w, found) for w in figures.workers(net) if (found := value(net, way, w)) is not None]
    hollow = [w for w, _ in points if (point := figures.point(net, way, w)) and point.how != MEASURED]
    return Curve(points, hollow)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0 done or up to date, 1 stale."""
    return keep("resattnet_page", fresh, arguments)


if __name__ == "__main__":
    sys.exit(main())
