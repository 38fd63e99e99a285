"""Rows of results, netpart compared with a peer, with all that the figures depend on.

benchmarks/results/NAME.json has versions, machine, date and rows, and fields of a benchmark's own.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from netpart.processor import this_processor

RESULTS = Path(__file__).parent / "results"
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Row:
    """The figures of ``netpart`` and a ``peer`` for the same ``work``, in ``unit``; less is better.

    ``goal`` is the least ``ratio`` to reach, None without a goal. ``runs`` are the ratios of single runs, one after
    another. ``shares`` are the fractions of the GEMM peak that netpart and the peer reach. ``load`` is the number of
    cores that other processes used meanwhile, None if unknown.
    """

    work: str
    against: str
    netpart: float
    peer: float
    unit: str = "s"
    goal: float | None = None
    runs: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    load: float | None = None

    @property
    def ratio(self) -> float:
        """The peer's figure over netpart's: above 1, netpart is better."""
        return self.peer / self.netpart

    @property
    def missed(self) -> bool:
        """True if the goal was missed."""
        return self.goal is not None and self.ratio < self.goal

    def as_json(self) -> dict[str, Any]:
        """The row as it is written, without what was not measured."""
        found = asdict(self) | {"ratio": round(self.ratio, 3)}
        for name in ("runs", "shares", "load"):
            if found[name] in ((), None):
                del found[name]
        return found

    def __str__(self) -> str:
        goal = "" if self.goal is None else f", goal {self.goal:g}{': missed' if self.missed else ''}"
        spread = f" ({min(self.runs):.2f} to {max(self.runs):.2f})" if self.runs else ""
        return f"{self.work}: {self.ratio:.2f}{spread} against {self.against}{goal}"


MEAN = "geometric mean"
"""How the work of a row begins that is the mean over all nets."""
NAMES = {field.name for field in fields(Row)}
"""The names of what a row is made of."""


def read_rows(path: Path) -> list[Row]:
    """The rows that ``write`` has written to ``path``; none if there is no such file."""
    return [
        Row(**{name: _as_written(value) for name, value in row.items() if name in NAMES}) for row in kept_rows(path)
    ]


def rows_of_others(path: Path, titles: Iterable[str]) -> list[Row]:
    """The rows in ``path``, without the means over all nets, of nets that have none of ``titles``."""
    begun = tuple(f"{title}, batch" for title in titles)
    return [row for row in read_rows(path) if not row.work.startswith((*begun, MEAN))]


def _as_written(value: Any) -> Any:
    """A value of a row: JSON has lists for tuples."""
    return tuple(value) if isinstance(value, list) else value


def write(path: Path, rows: Sequence[Row], packages: Sequence[str], more: Mapping[str, Any] | None = None) -> None:
    """Write ``rows``, the versions of ``packages``, and ``more``."""
    write_report(path, packages, {"rows": [row.as_json() for row in rows], **(more or {})})


def write_report(path: Path, packages: Sequence[str], found: Mapping[str, Any]) -> None:
    """Write ``found``, the results of a benchmark without rows, with all that they depend on."""
    report = about(packages) | dict(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def kept_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a report; none if there is no file."""
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.exists() else []


def keep_rows(
    path: Path, packages: Sequence[str], rows: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Any]
) -> None:
    """Write ``rows`` into a report in place of those with an equal ``key``, by which rows are sorted."""
    found = {key(row): row for row in (*kept_rows(path), *rows)}
    write_report(path, packages, {"rows": [found[each] for each in sorted(found)]})


def about(packages: Sequence[str]) -> dict[str, Any]:
    """What the figures depend on: the date, the machine, and the versions of Python, the system and ``packages``."""
    release, _, _ = platform.release().partition("-")
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {release}"}
    return {
        "date": date.today().isoformat(),
        "machine": {"processor": this_processor(), "cores": CORES},
        "versions": versions | {name: version(name) for name in packages},
    }


def finish(rows: Sequence[Row]) -> int:
    """Print every row; the exit code of the benchmark: 1 if a goal was missed."""
    for row in rows:
        print(row)
    return int(any(row.missed for row in rows))
