"""Fills docs/resattnet.md, and draws its charts, with the results of benchmarks.hybrid: run it after that.

python -m tools.resattnet_page            write page and charts anew from benchmarks/results/hybrid.json
python -m tools.resattnet_page --check    write nothing; exit 1 if they differ from the file
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from textwrap import dedent

from benchmarks.figures import MEASURED, Figures
from benchmarks.ways import WAYS
from netpart.draw.chart import Curve, marked_chart
from tools import results_page
from tools.partition_drawing import drawing
from tools.resattnet_published import published_charts, published_size
from tools.resattnet_reasons import errors, load, plans, slower
from tools.resattnet_tables import CHARTS, PAPER, TITLES, accuracies, beside_the_paper, equation_13, times
from tools.results_page import ROOT, Json, about, keep, missing, results

PAGE = "docs/resattnet.md"
PLAN = f"docs/{CHARTS}/resattnet-plan.svg"
PEER = "benchmarks/peers/torch_dp.py"


def fresh(root: Path) -> dict[str, str]:
    """The page, Figure 4, and the charts if there are results: path -> content."""
    found = results(root, "hybrid")
    page = (root / PAGE).read_text(encoding="utf-8")
    files = {PAGE: results_page.filled(page, partial(section, found)), PLAN: drawing(), **published_charts()}
    return files | ({} if found is None else charts(Figures(found)))


def section(found: Json | None, name: str) -> str:
    """The text of one marked place of the page."""
    if name == "code":
        return code()
    if found is None:
        return missing("hybrid")
    return "\n".join([*SECTIONS[name](Figures(found)), ""])


def code() -> str:
    """The code of a step of DataParallel."""
    text = (ROOT / PEER).read_text(encoding="utf-8")
    shown = dedent(text[text.index("    def train(") : text.index("def main")]).strip()
    apart = shown.replace("\n\ndef ", "\n\n\ndef ")
    return f"```python\n{apart}\n```\n"


def head(figures: Figures) -> Iterator[str]:
    """The conditions of all figures."""
    dates = sorted({point.date for point in figures.points if point.date})
    yield about(
        {**figures.found, "date": " to ".join(dict.fromkeys([*dates[:1], *dates[-1:]])) or figures.found["date"]}
    )


SECTIONS: dict[str, Callable[[Figures], Iterator[str]]] = {
    "head": head, "load": load, "accuracies": accuracies, "times": times, "equation13": equation_13,
    "paper": beside_the_paper, "slower": slower, "errors": errors, "plans": plans, "published": published_size,
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
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    return keep("resattnet_page", fresh, arguments)


if __name__ == "__main__":
    sys.exit(main())
