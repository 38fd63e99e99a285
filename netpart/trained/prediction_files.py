"""Files of predictions: tables of classes, arrays of labels, probabilities or values, and label maps of volumes.

NAME.csv, NAME.jsonl    a line per row: its class and the probability, or those of all classes; or values of a layer
NAME.npy                labels (rows, *places), probabilities (rows, *places, classes) or values of a layer
NAME.nii, NAME.nii.gz   labels of every voxel; of several rows NAME-0.nii.gz, NAME-1.nii.gz, ...
NAME                    a folder of label maps, one per row: PNG, of volumes NIfTI
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from netpart.data.atomic_file import atomic_file
from netpart.data.source_file import SUFFIX
from netpart.errors import ConfigError
from netpart.spec import Shape
from netpart.trained.label_maps import VOLUMES, LabelMapWriter, check_label_maps
from netpart.trained.prediction_arrays import array_form
from netpart.trained.prediction_job import PredictionJob
from netpart.trained.prediction_tables import CSV, TABLES, TableWriter, check_table

Rows = NDArray[Any]
TakeRows = Callable[[Rows], None]


@dataclass(frozen=True)
class PredictionOutput:
    """The file of the predictions, or a folder, whose name has no dot; ``every``: with probabilities of all classes."""

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
    if _is_label_maps(path):
        yield LabelMapWriter(path, plan).take
        return
    with atomic_file(path) as file:
        if path.suffix == SUFFIX:
            yield _array_writer(file, output, plan, np.dtype(dtype))
        else:
            yield TableWriter(file, path.suffix == CSV, output.every, plan).take


def _check_output(output: PredictionOutput, plan: PredictionJob) -> None:
    """Raise ConfigError unless the predictions of ``plan`` can be written to ``output``."""
    path = output.path
    if not _is_label_maps(path) and path.suffix not in (*TABLES, SUFFIX):
        names = f"a name that ends with {', '.join((*TABLES, SUFFIX, *VOLUMES))}, or of a folder, without a dot"
        raise ConfigError("--output", names, path.name, "change its ending")
    _require_replaceable(path)
    if plan.places is None and output.every:
        raise ConfigError("--layer", "no --all", "both", "values of a layer have no classes: omit one of them")
    if path.suffix in TABLES:
        check_table(path.name, plan)
    elif path.suffix != SUFFIX:
        check_label_maps(path, plan, output.every)


def _require_replaceable(path: Path) -> None:
    """Raise ConfigError if ``path`` is there, and is not what its name says: a folder, or a file."""
    if path.suffix and path.exists() and not path.is_file():
        raise ConfigError("--output", "a new or a regular file", f"{path}, which is neither", "name another path")
    if not path.suffix and path.exists() and not path.is_dir():
        hint = "name another path, or give it an ending"
        raise ConfigError("--output", "a folder, as the name has no ending", f"{path}, a file", hint)


def _is_label_maps(path: Path) -> bool:
    """True for the name of a NIfTI file, and of a folder."""
    return path.name.endswith(VOLUMES) or not path.suffix


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
