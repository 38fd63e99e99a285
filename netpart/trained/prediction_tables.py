"""Tables of predictions: a line per row with its number, its file, its class, and numbers."""

from __future__ import annotations

import csv
import json
from io import StringIO
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from netpart.errors import ConfigError
from netpart.trained.prediction_arrays import class_probabilities
from netpart.trained.prediction_job import PredictionJob
from netpart.trained.prediction_names import class_names, row_names

CSV, TABLES = ".csv", (".csv", ".jsonl")
MOST_VALUES = 1000
"""Largest number of values of a row in a table."""


def check_table(name: str, plan: PredictionJob) -> None:
    """Raise ConfigError for predictions that are no table."""
    hint = "write a .npy"
    if plan.places is None and prod(plan.shape) > MOST_VALUES:
        got = f"{prod(plan.shape)} in {name}"
        raise ConfigError("--output", f"at most {MOST_VALUES} values per row for a table", got, hint)
    if plan.places:
        hint = "write a .npy, or label maps into a folder: -o masks"
        raise ConfigError("--output", "one class per row for a table", f"{prod(plan.space)} places per row", hint)


class TableWriter:
    """Writer of a line per row: CSV with a header, or JSON lines.

    A line has the file of the row, if rows are files, and the name of its class, if all classes have names.
    """

    def __init__(self, file: BinaryIO, as_csv: bool, every: bool, plan: PredictionJob) -> None:
        self._file = file
        self._csv = as_csv
        self._every = every
        self._row = 0
        self._plan = plan
        self._files = row_names(plan.input)
        self._names = _known_names(plan)
        if as_csv:
            self._write_cells(self._columns())

    def take(self, rows: NDArray[Any]) -> None:
        """Write the lines of the next rows."""
        found = rows if self._plan.places is None else class_probabilities(rows, 0)
        for values in found:
            self._write_row(values)
            self._row += 1

    def _columns(self) -> list[str]:
        """The header."""
        first = ["row", *["file"] * bool(self._files)]
        if self._plan.places is None:
            return [*first, *(f"v{k}" for k in range(prod(self._plan.shape)))]
        shown = [f"p{k}" for k in range(prod(self._plan.shape))] if self._every else ["probability"]
        return [*first, "class", *["name"] * bool(self._names), *shown]

    def _write_row(self, values: NDArray[Any]) -> None:
        """Write the line of one row: its cells by column, the numbers last."""
        cells: dict[str, Any] = {"row": self._row}
        if self._files:
            cells["file"] = self._files[self._row]
        cells |= self._class_cells(values) if self._plan.places is not None else {"values": values.tolist()}
        if not self._csv:
            return self._write(json.dumps(cells))
        *shown, numbers = cells.values()
        self._write_cells([*map(str, shown), *(f"{number:.12g}" for number in np.ravel(numbers).tolist())])

    def _class_cells(self, probabilities: NDArray[Any]) -> dict[str, Any]:
        """The class of a row, its name, and the probability, or those of all classes."""
        best = int(probabilities.argmax())
        named = {"name": self._names[best]} if self._names else {}
        shown = (
            {"probabilities": probabilities.tolist()} if self._every else {"probability": float(probabilities[best])}
        )
        return {"class": best, **named, **shown}

    def _write_cells(self, cells: list[str]) -> None:
        line = StringIO()
        csv.writer(line, lineterminator="").writerow(cells)
        self._write(line.getvalue())

    def _write(self, line: str) -> None:
        self._file.write(f"{line}\n".encode(errors="replace"))


def _known_names(plan: PredictionJob) -> tuple[str, ...]:
    """The names of all classes; none if they are not known, or are of another number of classes."""
    names = class_names(plan.whole) if plan.whole is not None and plan.places is not None else ()
    return names if len(names) == prod(plan.shape) else ()
