"""Results of the use case, to which each measurement is added as soon as it ends, so that nothing is done twice.

Timings and trainings are independent: each part of the file has its own machine and versions.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figures, Point, Trained
from benchmarks.load import loaded
from benchmarks.rows import Row, about
from netpart.data.atomic_file import atomic_file
from netpart.errors import ConfigError

PACKAGES = ("netpart", "numpy", "pyzmq", "torch")
Json = dict[str, Any]
Rows = Callable[[Figures], Iterable[Row]]


@dataclass
class Kept:
    """The results in ``path``, without one in memory. ``rows`` makes the rows that the results of a benchmark have."""

    path: Path | None
    rows: Rows
    found: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = self.read()

    def read(self) -> Json:
        """The content of the file."""
        there: Json = {"titles": {}, "settings": {}, "points": [], "trainings": []}
        if self.path is None or not self.path.exists():
            return self.found or there
        found: Json = json.loads(self.path.read_text(encoding="utf-8"))
        return there | found

    @property
    def figures(self) -> Figures:
        """The figures that follow from it."""
        return Figures(self.found)

    def expect_same(self, settings: Mapping[str, Any]) -> None:
        """Raise ConfigError if the file's points were timed with other settings or on another machine than new ones."""
        if not self.found["points"]:
            return
        mine = {**settings, "machine": about(())["machine"]}
        theirs = {**self.found["settings"], "machine": self.found["machine"]}
        for name, value in mine.items():
            if theirs.get(name) != value:
                hint = "time everything anew with --again, or write another file with -o"
                raise ConfigError(f"{self.path}: {name}", f"{value}", f"{theirs.get(name)}", hint)

    def forget(self, points: Iterable[tuple[Any, ...]], trainings: Iterable[tuple[Any, ...]]) -> None:
        """Remove points and trainings, by their keys."""
        gone = {*points, *trainings}

        def change(found: Json) -> None:
            found["points"] = [p for p in found["points"] if Point(**p).key not in gone]
            found["trainings"] = [t for t in found["trainings"] if Trained(**t).key not in gone]

        self.update(change)

    def timed(self, keys: Iterable[tuple[str, str, int]], anyhow: bool = False) -> bool:
        """True if all these points are in the file and were timed on a quiet machine; with ``anyhow``, on any."""
        known = (point for point in self.figures.points if point.load is not None)
        return {point.key for point in known if anyhow or not loaded(point.load)}.issuperset(keys)

    def trained(self, keys: Iterable[tuple[str, str, str, int]]) -> bool:
        """True if all these trainings are in the file."""
        return {t.key for t in self.figures.trainings}.issuperset(keys)

    def add_points(self, points: Sequence[Point], settings: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        """Add points; they replace those with the same keys."""

        def change(found: Json) -> None:
            found |= about(PACKAGES) | dict(more)
            found["settings"] = {**found["settings"], **settings}
            found["points"] = merged(found["points"], points, Point)
            if all(p["load"] is not None for p in found["points"]):
                found["settings"].pop("load_at_start", None)

        self.update(change)

    def add_trained(self, trained: Trained, titles: Mapping[str, str]) -> None:
        """Add a training; it replaces the one with the same key."""

        def change(found: Json) -> None:
            found["titles"] = {**found["titles"], **titles}
            found["trained"] = about(PACKAGES)
            found["trainings"] = merged(found["trainings"], [trained], Trained)

        self.update(change)

    def update(self, change: Callable[[Json], None]) -> None:
        """Change the file under a lock, as another process may add to it as well."""
        with alone(self.path):
            self.found = self.read()
            change(self.found)
            self.found["rows"] = [row.as_json() for row in self.rows(self.figures)]
            if self.path is not None:
                with atomic_file(self.path) as file:
                    file.write((json.dumps(self.found, indent=1) + "\n").encode())


def merged(there: Sequence[Json], new: Sequence[Any], kind: Any) -> list[Json]:
    """``there``, in which ``new`` entries replace those with the same key; other new entries follow at the end."""
    fresh = {one.key: asdict(one) for one in new}
    kept = [fresh.pop(kind(**one).key, one) for one in there]
    return kept + list(fresh.values())


@contextmanager
def alone(path: Path | None) -> Iterator[None]:
    """Lock the folder, so that no other process changes its files meanwhile."""
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
