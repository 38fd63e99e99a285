"""Output of benchmarks.schemes: tables that are printed, and the file of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import rows
from benchmarks.contenders import MPI, TORCH, WARM_UP, Found, Timed
from benchmarks.crossovers import Pair, Sweep, crossing, verdict
from benchmarks.rows import CORES, Row
from netpart.units import bytes_text, seconds_text

RESULTS = rows.RESULTS / "schemes.json"
PACKAGES = ("netpart", "numpy", "pyzmq", "mpi4py", "mpich", "torch")
COMPARISONS = ((MPI, "NAIVE", 1.0), (TORCH, "COLUMN_ROW", None))
"""A peer, the scheme that does the same, and the ratio that is the goal."""

Json = dict[str, Any]


def comparisons(timed: Timed) -> list[Row]:
    """Each peer compared with the scheme that does the same."""
    return [
        Row(f"{timed.work}, {scheme}", peer, timed.found[scheme].median, timed.found[peer].median, "s/step", goal)
        for peer, scheme, goal in COMPARISONS
    ]


def missed(timed: Sequence[Timed]) -> list[Row]:
    """The comparisons that missed their goal."""
    return [row for each in timed for row in comparisons(each) if row.missed]


def contender_row(timed: Timed, name: str, found: Found) -> Json:
    """Everything about one contender at one work."""
    work = timed.work
    about = {"workers": work.workers, "widths": work.widths, "batch": work.batch, "contender": name}
    ratios = {f"ratio_{peer}": round(timed.found[peer].median / found.median, 3) for peer in (MPI, TORCH)}
    figures = {"seconds": found.median, "steps": len(found.seconds), "bytes": found.bytes, "calls": found.calls}
    return about | figures | ratios | {"loss": found.loss, "oversubscribed": work.workers > CORES}


def crossover_row(sweep: Sweep, timed: Sequence[Timed]) -> Json:
    """Both schemes of a pair along the variable of a sweep."""
    at = list(sweep.at)
    sent = bytes_of(sweep, timed)
    seconds = seconds_of(sweep, timed)
    return {
        "pair": sweep.pair, "along": sweep.along, "workers": timed[0].work.workers, "claim": sweep.claim,
        "predicted": crossing(at, sent), "measured": crossing(at, seconds),
        "by_bytes": verdict(sweep, at, sent), "by_time": verdict(sweep, at, seconds),
        "points": [{"at": x, "bytes": b, "seconds": s} for x, b, s in zip(at, sent, seconds, strict=True)],
    }  # fmt: skip


def bytes_of(sweep: Sweep, timed: Sequence[Timed]) -> list[Pair]:
    """Bytes of a step under both schemes, point by point."""
    return [(t.found[sweep.pair[0]].bytes, t.found[sweep.pair[1]].bytes) for t in timed]


def seconds_of(sweep: Sweep, timed: Sequence[Timed]) -> list[Pair]:
    """Seconds of a step under both schemes, point by point."""
    return [(t.found[sweep.pair[0]].median, t.found[sweep.pair[1]].median) for t in timed]


def print_work(timed: Timed) -> None:
    """A table of all contenders at one work; a ratio is a peer's time by the contender's."""
    work = timed.work
    crowded = f", oversubscribed: {work.workers} processes on {CORES} cores" if work.workers > CORES else ""
    print(f"\n{work}, threads per process: {work.threads}{crowded}")
    print(f"{'':16}{'step':>10}{'sent':>12}{'calls':>7}{f'{MPI} /':>16}{f'{TORCH} /':>12}")
    for name, found in timed.found.items():
        ratios = [timed.found[peer].median / found.median for peer in (MPI, TORCH)]
        cells = f"{seconds_text(found.median):>10}{bytes_text(found.bytes):>12}{found.calls:>7}"
        print(f"{name:16}{cells}{ratios[0]:>16.2f}{ratios[1]:>12.2f}", flush=True)


def print_crossover(sweep: Sweep, timed: Sequence[Timed]) -> None:
    """A table along one sweep: predicted by bytes, measured by time."""
    (first, second), row = sweep.pair, crossover_row(sweep, timed)
    print(f"\n{first} or {second}, {row['workers']} workers: {sweep.claim}")
    print(f"{sweep.along:>8}{'bytes':>26}{'time':>24}")
    for point in row["points"]:
        sent, taken = map(bytes_text, point["bytes"]), map(seconds_text, point["seconds"])
        print(f"{point['at']:>8}{' : '.join(sent):>26}{' : '.join(taken):>24}")
    print(f"predicted by bytes: {row['by_bytes']}; measured: {row['by_time']}", flush=True)


def write(
    path: Path, timed: Sequence[Timed], crossovers: Sequence[tuple[Sweep, Sequence[Timed]]], settings: Json
) -> None:
    """Write everything as JSON."""
    more = {
        "settings": settings | {"warm_up_steps": WARM_UP},
        "contenders": [contender_row(each, name, found) for each in timed for name, found in each.found.items()],
        "crossovers": [crossover_row(along, points) for along, points in crossovers],
    }
    rows.write(path, [row for each in timed for row in comparisons(each)], PACKAGES, more)
