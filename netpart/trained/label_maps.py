"""Label maps of predictions: a NIfTI file or a PNG file per row."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.atomic_file import atomic_file
from netpart.data.remote.url_path import DataPath
from netpart.data.resize import nearest_elements
from netpart.data.scans.nifti import NiftiScan, save_volume
from netpart.draw.png import encode_grey_png
from netpart.errors import ConfigError
from netpart.layers.inputs.nifti import NiftiInput
from netpart.spec import Shape
from netpart.trained.prediction_arrays import class_labels
from netpart.trained.prediction_job import PredictionJob
from netpart.trained.prediction_names import map_names, row_names

Rows = NDArray[Any]
VOLUMES = ".nii", ".nii.gz"
GREYS = 256
"""Largest number of classes in a PNG of 8 bits."""


def check_label_maps(path: Path, plan: PredictionJob, every: bool) -> None:
    """Raise ConfigError for predictions that are no label maps of two or three axes, as the ending of ``path`` says."""
    wanted = (3,) if path.name.endswith(VOLUMES) else (2, 3)
    if len(plan.space) not in wanted or not plan.places or every:
        got = "--all" if every else f"places {plan.space}" if plan.places else "no labels of places"
        what = "three axes for a NIfTI file" if wanted == (3,) else "two or three axes for a folder of label maps"
        raise ConfigError("--output", f"labels of {what}", got, "write a .npy")
    if len(plan.space) == 2 and (classes := prod(plan.shape[plan.places :])) > GREYS:
        raise ConfigError("--output", f"at most {GREYS} classes for PNG files", str(classes), "write a .npy")


class LabelMapWriter:
    """Writer of a file of labels per row; a volume is in the voxels of its scan if the row is from one."""

    def __init__(self, path: Path, plan: PredictionJob) -> None:
        self._paths = _label_map_paths(path, plan)
        self._plan = plan
        self._row = 0
        self._files = plan.input.row_files() if plan.input is not None else ()
        _refuse_sources(self._paths, self._files)
        if len(plan.space) == 3:  # an error now is better than after the net
            _try_volume(self._paths[0])

    def take(self, rows: Rows) -> None:
        """Write the label maps of the next rows."""
        for labels in class_labels(rows, self._plan):
            path = self._paths[self._row]
            path.parent.mkdir(parents=True, exist_ok=True)
            self._save_volume(path, labels.astype(np.int16)) if labels.ndim == 3 else _save_picture(path, labels)
            self._row += 1

    def _save_volume(self, path: Path, labels: Rows) -> None:
        """Write the labels of one row, on three axes."""
        if isinstance(self._plan.input, NiftiInput):
            scan = NiftiScan(self._files[self._row])
            return save_volume(path, scan.in_file_axes(nearest_labels(labels, scan.shape)), scan.file_affine)
        return save_volume(path, labels, np.eye(4))


def _label_map_paths(path: Path, plan: PredictionJob) -> list[Path]:
    """The file of each row: in the folder ``path``, or ``path`` itself with the number of the row if there are more."""
    if path.name.endswith(VOLUMES):
        name, dot, ending = path.name.partition(".nii")
        return [path.with_name(f"{name}-{row}{dot}{ending}") for row in range(plan.rows)] if plan.rows > 1 else [path]
    suffix = VOLUMES[1] if len(plan.space) == 3 else ".png"
    return [path / name for name in map_names(plan.rows, row_names(plan.input), suffix)]


def _refuse_sources(paths: list[Path], files: Sequence[DataPath]) -> None:
    """Raise ConfigError if a label map would replace a file of the input."""
    sources: set[Path] = {file.resolve() for file in files if isinstance(file, Path)}
    if wrong := next((path for path in paths if path.resolve() in sources), None):
        raise ConfigError("--output", "other files than those of the input", str(wrong), "name another folder")


def _try_volume(path: Path) -> None:
    """Raise what writing a volume at ``path`` raises."""
    made = not path.exists()
    if made:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_volume(path, np.zeros((1, 1, 1), np.int16), np.eye(4))
        path.unlink()


def _save_picture(path: Path, labels: Rows) -> None:
    """Write labels on two axes as grey values."""
    with atomic_file(path) as file:
        file.write(encode_grey_png(labels.astype(np.uint8)))


def nearest_labels(labels: Rows, shape: Shape) -> Rows:
    """``labels`` resampled to ``shape``: each element takes the nearest label, as classes have no means."""
    axes = [nearest_elements(old, n) for n, old in zip(shape, labels.shape, strict=True)]
    return np.asarray(labels[np.ix_(*axes)])
