"""What every benchmark writes: rows of netpart beside a peer, with all that the figures depend on.

benchmarks/results/NAME.json has versions, machine, date and rows, and what else a benchmark adds.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Row:
    """What ``netpart`` and a ``peer`` took for the same ``work``, in ``unit``: of both, less is better.

    ``goal`` is the least ``ratio`` to be reached, None where there is nothing to be reached.
    """

    work: str
    against: str
    netpart: float
    peer: float
    unit: str = "s"
    goal: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as much the peer takes: above 1, netpart is better."""
        return self.peer / self.netpart

    @property
    def missed(self) -> bool:
        """True if a goal was not reached."""
        return self.goal is not None and self.ratio < self.goal

    def as_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return asdict(self) | {"ratio": round(self.ratio, 3)}

    def __str__(self) -> str:
        goal = "" if self.goal is None else f", goal {self.goal:g}{': missed' if self.missed else ''}"
        return f"{self.work}: {self.ratio:.2f} against {self.against}{goal}"


def write(path: Path, rows: Sequence[Row], packages: Sequence[str], more: Mapping[str, Any] | None = None) -> None:
    """Writes ``rows``, the versions of ``packages``, and ``more``."""
    write_report(path, packages, {"rows": [row.as_json() for row in rows], **(more or {})})


def write_report(path: Path, packages: Sequence[str], found: Mapping[str, Any]) -> None:
    """Writes what a benchmark ``found`` that compares otherwise than in rows, with all that it depends on."""
    report = about(packages) | dict(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def about(packages: Sequence[str]) -> dict[str, Any]:
    """What figures of today depend on: the machine, and the versions of Python, the system and ``packages``."""
    release, _, _ = platform.release().partition("-")
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {release}"}
    return {
        "date": date.today().isoformat(),
        "machine": {"processor": processor(), "cores": CORES},
        "versions": versions | {name: version(name) for name in packages},
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def finish(rows: Sequence[Row]) -> int:
    """Prints every row; the exit code of the benchmark: 1 if a goal was missed."""
    for row in rows:
        print(row)
    return int(any(row.missed for row in rows))
