"""Metrics of a run as text in Prometheus' format, version 0.0.4.

Source: https://prometheus.io/docs/instrumenting/exposition_formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, isfinite

from netpart.live.run_feed import RunFeed

Row = tuple[dict[str, str], float]


def metrics_text(feed: RunFeed) -> str:
    """All metrics of the run in ``feed``; those without a value yet are left out."""
    families: tuple[tuple[str, str, str, Iterable[Row]], ...] = (
        ("up", "gauge", "1 while the run goes on, 0 after its end", [({}, float(feed.value("end") is None))]),
        ("restarts_total", "counter", "Restarts after a failure", [({}, float(_restart_count(feed)))]),
        ("step", "gauge", "Training steps done, as of the last report", _progress_rows(feed, 0)),
        ("seconds", "gauge", "Seconds from the first step to the last report", _progress_rows(feed, 1)),
        ("metric", "gauge", "Mean of a metric since the report before, by phase and name", _curve_rows(feed)),
        ("samples_per_second", "gauge", "Samples a second since the report before, by phase", _rate_rows(feed)),
        ("worker_step", "gauge", "Training step that a worker is in", _position_rows(feed, 2)),
        ("worker_silent_seconds", "gauge", "Seconds since the last heartbeat of a worker", _position_rows(feed, 4)),
        ("memory_planned_bytes", "gauge", "Memory that the plan of a worker allocates", _planned_rows(feed)),
        ("memory_resident_bytes", "gauge", "Memory of a worker's process, with Python", _memory_rows(feed, 0)),
        (
            "memory_grown_bytes",
            "gauge",
            "Memory of a worker's process since its plan was compiled",
            _memory_rows(feed, 1),
        ),
        ("sent_bytes_total", "counter", "Payload bytes sent by one worker to another", _sent_rows(feed)),
        ("wait_seconds", "gauge", "Seconds waited in the last sampled step, by edge", _wait_rows(feed)),
        ("staleness_mean", "gauge", "Mean staleness of the updates of servers", _staleness_rows(feed)),
    )
    return "".join(line for family in families for line in _family_lines(*family))


def _family_lines(name: str, kind: str, words: str, rows: Iterable[Row]) -> Iterator[str]:
    """The lines of one metric."""
    lines = [f"netpart_{name}{_label_text(labels)} {_sample_text(value)}\n" for labels, value in rows]
    if lines:
        yield from (f"# HELP netpart_{name} {words}.\n", f"# TYPE netpart_{name} {kind}\n", *lines)


def _sample_text(value: float) -> str:
    """A number as the format writes it."""
    return repr(value) if isfinite(value) else {inf: "+Inf", -inf: "-Inf"}.get(value, "NaN")


def _label_text(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{name}="{escape_label(value)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def escape_label(value: str) -> str:
    """The value of a label, as the format escapes it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _restart_count(feed: RunFeed) -> int:
    """How many attempts have failed and were followed by another one."""
    made = feed.value("attempts")
    return made[-1]["number"] - 1 if made else 0


def _progress_rows(feed: RunFeed, at: int) -> list[Row]:
    done = [point for name, point in feed.latest_points().items() if name.startswith("train/")]
    return [({}, float(max(point[at] for point in done)))] if done else []


def _curve_rows(feed: RunFeed) -> Iterator[Row]:
    for name, point in feed.latest_points().items():
        phase, _, metric = name.partition("/")
        if metric != "samples_per_second":
            yield {"phase": phase, "name": metric}, float(point[2])


def _rate_rows(feed: RunFeed) -> Iterator[Row]:
    for name, point in feed.latest_points().items():
        phase, _, metric = name.partition("/")
        if metric == "samples_per_second":
            yield {"phase": phase}, float(point[2])


def _position_rows(feed: RunFeed, at: int) -> Iterator[Row]:
    for row in feed.value("positions") or ():
        yield {"worker": str(row[0])}, float(row[at])


def _planned_rows(feed: RunFeed) -> Iterator[Row]:
    for rank, nbytes in enumerate((feed.value("run") or {}).get("memory", ())):
        yield {"worker": str(rank)}, float(nbytes)


def _memory_rows(feed: RunFeed, at: int) -> Iterator[Row]:
    for rank, found in sorted((feed.value("memory") or {}).items()):
        if found[at] is not None:
            yield {"worker": str(rank)}, float(found[at])


def _sent_rows(feed: RunFeed) -> Iterator[Row]:
    for ends, nbytes in (feed.value("sent") or {}).items():
        source, target = ends.split(" → ")
        yield {"source": source, "target": target}, float(nbytes)


def _wait_rows(feed: RunFeed) -> Iterator[Row]:
    for chart in (feed.value("charts") or {}).values():
        for edge, seconds in chart["waits"].items():
            yield {"group": str(chart["group"]), "edge": edge}, float(seconds)


def _staleness_rows(feed: RunFeed) -> list[Row]:
    stale = feed.value("staleness")
    return [({}, float(stale["mean"]))] if stale else []
