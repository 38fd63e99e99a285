"""The tables of docs/resattnet.md that the paper has too: accuracies, times, equation 13."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy import TASKS
from benchmarks.figures import BOUND, MARKS, NETPART, PEERS, PYTORCH, REACH, Figures, Point, Trained
from benchmarks.load import loaded
from benchmarks.ways import WAYS
from netpart.units import seconds_text
from tools.results_page import about

CHARTS = "images/charts"
TITLES = {name: way.title for name, way in WAYS.items()} | PEERS
PAPER = {
    ("resattnet18", "mci"): (34, 15, 13, 11, 10, 9, 7, 6),
    ("resattnet18", "ad"): (62, 26, 21, 18, 17, 15, 12, 11),
    ("resattnet34", "mci"): (37, 17, 14, 12, 11, 10, 8, 7),
    ("resattnet34", "ad"): (68, 29, 24, 21, 19, 16, 14, 12),
}
"""Minutes of training for 1 to 8 GPUs: Table 3 of the paper."""
LOADED = " †"
"""The mark after a figure that was timed while other processes used the machine."""
UNTIMED, UNTRAINED = "not timed", "not trained"


def accuracies(figures: Figures) -> Iterator[str]:
    """The accuracy columns of Table 3, each trained once."""
    if not figures.trainings:
        yield "Not trained yet: `make bench-hybrid ARGS='--only trainings'`."
        return
    yield f"{about(figures.found['trained'])}"
    yield ""
    whos = sorted(
        {(t.who, t.rows) for t in figures.trainings}, key=lambda who: ((NETPART, PYTORCH).index(who[0]), -who[1])
    )
    yield f"| net | task | accuracy to reach | {' | '.join(f'{who}, {rows} rows' for who, rows in whos)} |"
    yield "|---|---|--:" + "|--:" * len(whos) + "|"
    for net, title in figures.found["titles"].items():
        for task in TASKS.values():
            goal, trained = REACH[task.name], [figures.trained(net, task.name, *who) for who in whos]
            if any(trained):
                cells = " | ".join(accuracy(each, goal) for each in trained)
                yield f"| {title} | {task.title} | {goal:.0%} | {cells} |"


def accuracy(trained: Trained | None, goal: float) -> str:
    """The accuracy of a training, and the epochs until tests reached the goal."""
    if trained is None:
        return UNTRAINED
    epochs, last = trained.epochs_to(goal), len(trained.accuracies)
    return f"{trained.accuracies[-1]:.1%} ({f'not in {last}' if epochs is None else f'{epochs} of {last}'})"


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
        return UNTIMED
    return timing(point, epoch, ratio)


def timing(point: Point, seconds: float, ratio: float) -> str:
    """Seconds that follow from a point, how they are known, and how many times as long one worker takes."""
    most, busy = "≤ " if point.how == BOUND else "", LOADED if loaded(point.load) else ""
    return f"{MARKS[point.how]}{seconds_text(seconds)} ({most}{ratio:.2f}){busy}"


def equation_13(figures: Figures) -> Iterator[str]:
    """T · TS · E in every row, and equation 13."""
    yield f"| net | task | workers | {' | '.join(TITLES.values())} |"
    yield "|---|---|--:" + "|--:" * len(TITLES) + "|"
    for net, title in figures.found["titles"].items():
        for task in TASKS.values():
            for workers in figures.workers(net):
                cells = " | ".join(total(figures, net, task.name, way, workers) for way in TITLES)
                yield f"| {title} | {task.title} | {workers} | {cells} |"


def total(figures: Figures, net: str, task: str, way: str, workers: int) -> str:
    """Seconds of training to the accuracy of equation 13, and its value; > and < if it was not reached."""
    point, seconds = figures.point(net, way, workers), figures.total(net, task, way, workers)
    if point is None:
        return UNTIMED
    if seconds is None:
        return UNTRAINED
    value = equation(figures, net, task, way, workers)
    least = MARKS[point.how] if figures.reached(net, task, way, workers) else "> "
    return f"{least}{seconds_text(seconds)} ({value}){LOADED if loaded(point.load) else ''}"


def equation(figures: Figures, net: str, task: str, way: str, workers: int) -> str:
    """Equation 13, or the reason why it cannot be computed."""
    point, found = figures.point(net, way, workers), figures.equation_13(net, task, way, workers)
    if found is None or point is None:
        return UNTRAINED
    if not figures.reached(net, task, way, 1):
        return f"one worker: not in {figures.epochs(net, task, way, 1)} epochs"
    if not figures.reached(net, task, way, workers):
        return f"< {found:.2f}"
    return f"{'≤ ' if point.how == BOUND else ''}{found:.2f}"


def beside_the_paper(figures: Figures) -> Iterator[str]:
    """Speed-ups and equation 13, compared with the paper's."""
    yield "| net | task | workers | paper | T1 / Tm | E1 / Em | equation 13 | data parallelism, equation 13 |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for (net, task), minutes in PAPER.items():
        for workers in (w for w in figures.workers(net) if w in (2, 4, 8)):
            speedup = figures.speedup(net, "hybrid", workers)
            ratios = [
                UNTIMED if speedup is None else f"{speedup:.2f}",
                " / ".join(epochs(figures, net, task, count) for count in (1, workers)),
                *(equation(figures, net, task, way, workers) for way in ("hybrid", "data")),
            ]  # fmt: skip
            title = f"{figures.found['titles'][net]} | {TASKS[task].title}"
            yield f"| {title} | {workers} | {minutes[0] / minutes[workers - 1]:.2f} | {' | '.join(ratios)} |"


def epochs(figures: Figures, net: str, task: str, workers: int) -> str:
    """E of the proposed approach."""
    found = figures.epochs(net, task, "hybrid", workers)
    if found is None:
        return UNTRAINED
    more = "" if figures.reached(net, task, "hybrid", workers) else "> "
    return f"{more}{found}"
