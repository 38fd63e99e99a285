"""Files of predictions: tables of classes, arrays of labels, probabilities or values, and label maps of volumes.

NAME.csv, NAME.jsonl    a line per row: its class and the probability, or those of all classes
NAME.npy                labels (rows, *places), probabilities (rows, *places, classes) or values of a layer
NAME.nii, NAME.nii.gz   labels of every voxel; of several rows NAME-0.nii.gz, NAME-1.nii.gz, ...
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.data.atomic_file import atomic_file
from netpart.data.resize import nearest_elements
from netpart.data.scans.nifti import NiftiScan, save_volume
from netpart.data.source_file import SUFFIX
from netpart.errors import ConfigError
from netpart.layers.inputs.nifti import NiftiInput
from netpart.spec import Shape
from netpart.trained.prediction_job import PredictionJob

Rows = NDArray[Any]
TakeRows = Callable[[Rows], None]
TABLES = ".csv", ".jsonl"
VOLUMES = ".nii", ".nii.gz"


@dataclass(frozen=True)
class PredictionOutput:
    """The file of the predictions; ``every``: with the probabilities of all classes."""

    path: Path
    every: bool = False


@contextmanager
def open_output(output: PredictionOutput, plan: PredictionJob, dtype: Any) -> Iterator[TakeRows]:
    """Create the file, and yield the function that takes the values of the next rows (rows, *shape).

    The file appears when the block ends well. Raises ConfigError for a file that cannot have these predictions, and
    OSError for one that cannot be written.
    """
    _check_output(output, plan)
    path = output.path
    if path.name.endswith(VOLUMES):
        yield VolumeWriter(path, plan).take
        return
    with atomic_file(path) as file:
        if path.suffix == SUFFIX:
            yield _array_writer(file, output, plan, np.dtype(dtype))
        else:
            yield TableWriter(file, path.suffix == TABLES[0], output.every, plan).take


def _check_output(output: PredictionOutput, plan: PredictionJob) -> None:
    """Raise ConfigError unless the predictions of ``plan`` can be written to ``output``."""
    path = output.path
    names = f"a name that ends with {', '.join((*TABLES, SUFFIX, *VOLUMES))}"
    if not path.name.endswith((*TABLES, SUFFIX, *VOLUMES)):
        raise ConfigError("--output", names, path.name, "change its ending")
    if path.exists() and not path.is_file():
        raise ConfigError("--output", "a new or a regular file", f"{path}, which is neither", "name another path")
    if plan.places is None and (path.suffix != SUFFIX or output.every):
        raise ConfigError("--layer", "a .npy as --output, and no --all", path.name, "values of a layer have no classes")
    if plan.places and path.suffix in TABLES:
        hint = "write a .npy, or a .nii.gz for volumes"
        raise ConfigError("--output", "one class per row for a table", f"{prod(plan.space)} places per row", hint)
    if path.name.endswith(VOLUMES) and (len(plan.space) != 3 or not plan.places or output.every):
        got = f"places {plan.space}" if not output.every else "--all"
        raise ConfigError("--output", "labels of three axes for a NIfTI file", got, "write a .npy")


def class_probabilities(values: Rows, places: int) -> Rows:
    """The softmax of ``values`` (rows, *places, ...) over all axes after ``places`` axes of a row, in float64."""
    scores = values.reshape(*values.shape[: 1 + places], -1).astype(np.float64)
    # The shift by the maximum avoids overflow and cancels in the quotient.
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _class_labels(values: Rows, plan: PredictionJob) -> Rows:
    """The most probable class (rows, *space), int32; the lowest one of several."""
    assert plan.places is not None
    scores = values.reshape(*values.shape[: 1 + plan.places], -1)
    return np.asarray(scores.argmax(axis=-1).astype(np.int32).reshape(len(values), *plan.space))


class ArrayForm(NamedTuple):
    """What an array of predictions has of each row: its shape, its dtype, and how it comes from values of the net."""

    shape: Shape
    dtype: np.dtype[Any]
    convert: Callable[[Rows], Rows]


def array_form(plan: PredictionJob, every: bool, dtype: np.dtype[Any]) -> ArrayForm:
    """Values of a layer, the probabilities of ``every`` class, or labels; numbers are of ``dtype``, labels int32."""
    places = plan.places
    if places is None:
        return ArrayForm(plan.shape, dtype, lambda rows: rows)
    if every:
        classes = prod(plan.shape[places:])
        shape = (*plan.space, classes)
        return ArrayForm(shape, dtype, lambda rows: class_probabilities(rows, places).astype(dtype).reshape(-1, *shape))
    return ArrayForm(plan.space, np.dtype(np.int32), lambda rows: _class_labels(rows, plan))


def _array_writer(file: BinaryIO, output: PredictionOutput, plan: PredictionJob, dtype: np.dtype[Any]) -> TakeRows:
    """Write the header of a NumPy file; return the function that appends rows to it."""
    form = array_form(plan, output.every, dtype)
    _write_array_header(file, (plan.rows, *form.shape), form.dtype)
    return lambda rows: _append(file, form.convert(rows))


def _append(file: BinaryIO, rows: Rows) -> None:
    """Append the elements of ``rows`` in row-major order."""
    file.write(np.ascontiguousarray(rows).tobytes())


def _write_array_header(file: BinaryIO, shape: Shape, dtype: np.dtype[Any]) -> None:
    """Write the header of a NumPy file of ``shape``."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


class TableWriter:
    """Writer of a line per row: CSV with a header, or JSON lines."""

    def __init__(self, file: BinaryIO, as_csv: bool, every: bool, plan: PredictionJob) -> None:
        self._file = file
        self._csv = as_csv
        self._every = every
        self._row = 0
        columns = [f"p{k}" for k in range(prod(plan.shape))] if every else ["probability"]
        if as_csv:
            self._write(",".join(["row", "class", *columns]))

    def take(self, rows: Rows) -> None:
        """Write the lines of the next rows."""
        for found in class_probabilities(rows, 0):
            self._write(self._line(int(found.argmax()), found.tolist()))
            self._row += 1

    def _line(self, best: int, probabilities: list[float]) -> str:
        """The line of one row."""
        if self._csv:
            shown = probabilities if self._every else [probabilities[best]]
            return ",".join([str(self._row), str(best), *(f"{p:.12g}" for p in shown)])
        found = {"probabilities": probabilities} if self._every else {"probability": probabilities[best]}
        return json.dumps({"row": self._row, "class": best, **found})

    def _write(self, line: str) -> None:
        self._file.write(f"{line}\n".encode())


class VolumeWriter:
    """Writer of a NIfTI file of labels per row, in the voxels and axes of its scan if the row is from one."""

    def __init__(self, path: Path, plan: PredictionJob) -> None:
        self._path = path
        self._plan = plan
        self._row = 0
        save_volume(path, np.zeros((1, 1, 1), np.int16), np.eye(4))  # an error now is better than after the net
        path.unlink()

    def take(self, rows: Rows) -> None:
        """Write the volumes of the next rows."""
        for labels in _class_labels(rows, self._plan):
            self._save(labels.astype(np.int16))
            self._row += 1

    def _save(self, labels: Rows) -> None:
        """Write the labels of one row."""
        source = self._plan.input
        path = self._path
        if self._plan.rows > 1:
            name, dot, ending = path.name.partition(".nii")
            path = path.with_name(f"{name}-{self._row}{dot}{ending}")
        if isinstance(source, NiftiInput):
            scan = NiftiScan(source.table()[self._row].path)
            return save_volume(path, scan.in_file_axes(nearest_labels(labels, scan.shape)), scan.file_affine)
        return save_volume(path, labels, np.eye(4))


def nearest_labels(labels: Rows, shape: Shape) -> Rows:
    """``labels`` resampled to ``shape``: each element takes the nearest label, as classes have no means."""
    axes = [nearest_elements(old, n) for n, old in zip(shape, labels.shape, strict=True)]
    return np.asarray(labels[np.ix_(*axes)])
