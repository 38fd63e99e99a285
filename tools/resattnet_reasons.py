"""Tables of docs/resattnet.md on the validity of its figures: load of the machine, plans, slower rows and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.figures import MARKS, Figures, Point, worst
from benchmarks.load import QUIET, loaded
from benchmarks.ways import WAYS
from netpart.units import bytes_text, seconds_text
from tools.resattnet_tables import LOADED, TITLES, UNTIMED


def load(figures: Figures) -> Iterator[str]:
    """The load by other processes while each point was timed."""
    known = [point for point in figures.points if point.load is not None]
    marked, unknown = sum(loaded(point.load) for point in known), len(figures.points) - len(known)
    yield f"| steps, of {len(figures.points)} | timed |"
    yield "|--:|---|"
    yield f"| {len(known) - marked} | while others used at most {QUIET:g} cores |"
    yield f"| {marked} | while others used more: marked{LOADED} |"
    yield f"| {unknown} | before the load of others was recorded{at_start(figures)} |"
    counts = sorted({point.workers for point in known})
    if counts:
        yield ""
        yield f"| cores that others used | way | {' | '.join(map(workers_text, counts))} |"
        yield "|---|---" + "|--:" * len(counts) + "|"
    for net, title in figures.found["titles"].items():
        for way, name in TITLES.items():
            points = [figures.point(net, way, workers) for workers in counts]
            if any(points):
                yield f"| {title} | {name} | {' | '.join(map(used, points))} |"


def at_start(figures: Figures) -> str:
    """The load average that was recorded instead."""
    average = figures.found["settings"].get("load_at_start")
    return (
        "" if average is None else f"; when they began the load average was {average:.2f}, which counts the benchmark"
    )


def workers_text(count: int) -> str:
    """A number of workers."""
    return f"{count} worker{'s' * (count > 1)}"


def used(point: Point | None) -> str:
    """Cores that other processes used while a point was timed."""
    if point is None:
        return UNTIMED
    return "not recorded" if point.load is None else f"{point.load:.2f}{LOADED if loaded(point.load) else ''}"


HEAD = (
    "net", "workers", "batch norm over", "GABRA + hybrid", "data parallelism", "GABRA + hybrid takes",
    "its workers wait", "its busiest worker has", "it sends", "data parallelism sends",
)  # fmt: skip


def slower(figures: Figures) -> Iterator[str]:
    """The rows in which the proposed approach is slower than data parallelism, with reasons."""
    pairs = list(compared(figures))
    if not pairs:
        yield "Nothing that can be compared has been timed."
        return
    worst_ratio = max(own.seconds / other.seconds for own, other in pairs)
    worse = sum(own.seconds > other.seconds for own, other in pairs)
    yield f"GABRA + hybrid is slower than data parallelism in **{worse} of {len(pairs)}** rows; at worst its step takes"
    yield f"{worst_ratio:.2f} times as long.{summary(pairs)}"
    yield ""
    yield f"| {' | '.join(HEAD)} |"
    yield "|---|--:|---" + "|--:" * (len(HEAD) - 3) + "|"
    for own, other in pairs:
        times = own.seconds / other.seconds
        cells = [
            figures.found["titles"][own.net], f"{own.workers}", "own rows" if WAYS[own.way].local else "all rows",
            step(own), step(other), f"{'**' * (times > 1)}{times:.2f} ×{'**' * (times > 1)}", *reasons(own, other),
        ]  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def summary(pairs: Sequence[tuple[Point, Point]]) -> str:
    """The extent of each reason, over all rows."""
    counted = [(own, own.counts, other.counts) for own, other in pairs if own.counts and other.counts]
    if not counted:
        return ""
    idle, busiest = [a["idle"] for _, a, _ in counted], max(a["busiest"] for _, a, _ in counted)
    least = min(idle)
    most = max(idle)
    others = max(b["idle"] for _, _, b in counted)
    fewer = [a["messages"] < b["messages"] for own, a, b in counted if not WAYS[own.way].local]
    return (
        f" Its workers wait for {least:.0%} to {most:.0%} of a step, those of data\n"
        f"parallelism for {others:.0%}; its busiest worker computes up to {busiest:.2f} times as much as the mean.\n"
        f"With batch norm over all rows it sends fewer messages in {sum(fewer)} of {len(fewer)} rows."
    )


def compared(figures: Figures) -> Iterator[tuple[Point, Point]]:
    """The proposed approach and data parallelism, on as many workers, with the same batch norm."""
    for own in figures.points:
        if own.way in WAYS and WAYS[own.way].hybrid:
            other = figures.point(own.net, own.way.replace("hybrid", "data"), own.workers)
            if other:
                yield own, other


def step(point: Point) -> str:
    """Seconds of a step, and their mark: measured, simulated or a bound."""
    return f"{MARKS[point.how]}{seconds_text(point.seconds)}{LOADED if loaded(point.load) else ''}"


def reasons(own: Point, other: Point) -> list[str]:
    """Figures of two placements that need no clock."""
    if own.counts is None or other.counts is None:
        return ["not counted"] * 4
    sent = [
        f"{bytes_text(c['bytes'])} in {c['messages']:,} messages".replace(",", " ") for c in (own.counts, other.counts)
    ]
    return [f"{own.counts['idle']:.0%} of a step", f"{own.counts['busiest']:.2f} × the mean", *sent]


def errors(figures: Figures) -> Iterator[str]:
    """The errors of the simulator where the step was also measured."""
    yield "| net | way | workers | measured | simulated | error |"
    yield "|---|---|--:|--:|--:|--:|"
    for point in figures.errors():
        title, way = figures.found["titles"][point.net], TITLES[point.way]
        measured, simulated = seconds_text(point.seconds), seconds_text(point.simulated or 0.0)
        yield f"| {title} | {way} | {point.workers} | {measured} | {simulated} | {point.error or 0.0:+.1%} |"
    yield ""
    yield f"The largest error is {worst(figures.points):.1%}."


def plans(figures: Figures) -> Iterator[str]:
    """GABRA's allocation for each number of workers."""
    yield "| net | workers | partitions | groups: workers joined by + share the rows |"
    yield "|---|--:|--:|---|"
    for point in figures.points:
        if point.way == "hybrid" and point.plan:
            groups = ", ".join("+".join(map(str, group)) for group in point.plan["groups"])
            yield f"| {figures.found['titles'][point.net]} | {point.workers} | {point.plan['partitions']} | {groups} |"
