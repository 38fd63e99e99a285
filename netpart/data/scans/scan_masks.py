"""Masks of scans: volumes whose voxels are classes, checked against their scans and resampled without interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.resize import nearest_elements
from netpart.data.scans.nifti import NiftiScan
from netpart.data.scans.scan_table import MOST, LabelledScan
from netpart.errors import DataError, MissingData
from netpart.spec import Shape, size

APART = 0.1
"""Largest distance, in voxels, of a corner of a mask from that of its scan; files round their affines differently."""
CHECKED = 1 << 26
"""Voxels of masks that are read before a run, to find labels that are no classes."""


def open_mask(labelled: LabelledScan) -> NiftiScan:
    """Open the mask of a scan. Raises DataError unless it has the shape of the scan and lies where the scan lies."""
    assert labelled.mask is not None
    scan = NiftiScan(labelled.path)
    mask = NiftiScan(labelled.mask)
    if mask.shape != scan.shape:
        expected, got = ("x".join(map(str, each.shape)) for each in (scan, mask))
        hint = "resample it to the scan's voxels, by the nearest one"
        raise DataError(f"{mask.path}: expected {expected} voxels, as its scan {scan.path} has, got {got}; {hint}")
    distance = _corner_distance(scan, mask)
    if not distance <= APART:  # also if it is not a number
        hint = "resample it to the scan's voxels, or copy the scan's affine if only that is wrong"
        got = f"corners that are {distance:.3g} voxels away"
        raise DataError(f"{mask.path}: expected the affine of its scan {scan.path}, got {got}; {hint}")
    return mask


def _corner_distance(scan: NiftiScan, mask: NiftiScan) -> float:
    """The largest distance of the same corner in two volumes of one shape, in units of the smallest side of a voxel."""
    ends = np.stack(np.meshgrid(*([0, n] for n in scan.shape), [1], indexing="ij"), -1).reshape(-1, 4)
    moved = (ends @ (mask.affine - scan.affine).T)[:, :3]
    side = np.linalg.norm(scan.affine[:3, :3], axis=0).min()
    return float(np.linalg.norm(moved, axis=1).max() / side)


def read_mask(mask: NiftiScan, space: Shape) -> NDArray[np.int32]:
    """The classes of a mask at the nearest voxels of a lattice of extents ``space``, that of the interpolated scan.

    Every voxel is looked at, some slices of the file at a time. Raises DataError for one that is no class.
    """
    taken = [nearest_elements(n, m) for n, m in zip(mask.shape, space, strict=True)]
    found = np.empty(space, np.int32)
    for box in mask.slab_boxes():
        values = _whole_numbers(mask, mask.read(box, np.float64))
        places = zip(taken, box, strict=True)
        parts = [(np.flatnonzero((lo <= of) & (of < hi)), of[(lo <= of) & (of < hi)] - lo) for of, (lo, hi) in places]
        found[np.ix_(*(target for target, _ in parts))] = values[np.ix_(*(source for _, source in parts))]
    return found


def _whole_numbers(mask: NiftiScan, values: NDArray[Any]) -> NDArray[Any]:
    """``values``; raises DataError if one is not a whole number that a label can be."""
    wrong = ~((values >= 0) & (values <= MOST) & (np.floor(values) == values))  # true for NaN too
    if wrong.any():
        expected = f"classes, whole numbers from 0 to {MOST}"
        hint = "save the mask again as integers, without interpolation and scaling"
        raise DataError(f"{mask.path}: expected {expected}, got {values[wrong].flat[0]:g}; {hint}")
    return values


def find_absent_mask(table: Sequence[LabelledScan]) -> None:
    """Raise MissingData for the first mask of this machine that is not there; URLs are not requested."""
    for labelled in table:
        if isinstance(labelled.mask, Path) and not labelled.mask.exists():
            hint = "correct the column `mask`; its paths count from the folder of the table"
            raise MissingData(f"{labelled.mask}: expected the mask of {labelled.path}, got nothing there; {hint}")


def refuse_mask_labels(table: Sequence[LabelledScan], classes: int, ignored: int | None = None) -> None:
    """Raise DataError for a label that is neither below ``classes`` nor ``ignored``.

    Only masks at even distances in the table are read, with about CHECKED voxels: all of few or small ones.
    """
    count = max(1, CHECKED // size(tuple((0, n) for n in NiftiScan(table[0].path).shape)))
    for labelled in table[:: -(-len(table) // count)]:
        mask = open_mask(labelled)
        for box in mask.slab_boxes():
            values = _whole_numbers(mask, mask.read(box, np.float64))
            _refuse_high_label(mask, values[values != ignored].max(initial=0), classes, ignored)


def _refuse_high_label(mask: NiftiScan, label: float, classes: int, ignored: int | None) -> None:
    """Raise DataError if the highest label of ``mask`` that is not ``ignored`` is no class."""
    if label >= classes:
        also = "" if ignored is None else f" or {ignored}, which is ignored"
        hint = "correct it, give the layer below the loss as many outputs as there are classes"
        hint += "" if ignored is not None else f", or write ignore_index: {label:.0f} in the loss"
        raise DataError(f"{mask.path}: expected classes from 0 to {classes - 1}{also}, got {label:.0f}; {hint}")
