"""ScanRows: rows of labelled NIfTI volumes, resampled to one shape, normalised and flipped, box by box."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.record_order import Permutation, RecordOrder
from netpart.data.resize import interpolation_matrix
from netpart.data.row_source import RowOutputs, RowSource
from netpart.data.scans.augmentation import SAME, Changes
from netpart.data.scans.nifti import NiftiScan
from netpart.data.scans.scan_masks import open_mask, read_mask
from netpart.data.scans.scan_table import LabelledScan
from netpart.data.scans.scratch_arrays import ScratchArrays
from netpart.errors import DataError
from netpart.spec import Region, Shape, extent


class ScanRows(RowSource):
    """Row r of step s is record s·batch + r of the table, wrapping at its end, as (1, *space).

    A volume is interpolated linearly to ``space``. ``normalise`` scales the voxels that are not 0 (0 is the background
    around a brain) to mean 0 and variance 1. ``changes`` draws the change of each row. A read touches only the slabs of
    the file that its box comes from. Boxes that were read are kept on disk for the next pass, in up to ``room`` bytes.
    ``order`` returns the order of each pass, to replace that of the table. All is computed in ``dtype``. Masks become
    a label for each voxel of ``space``, flipped with the scan; the labels of a row are never cut.
    """

    def __init__(
        self, table: list[LabelledScan], space: Shape, *, batch: int, normalise: bool = True,
        order: Permutation | None = None, changes: Changes | None = None, room: int = 0, dtype: DTypeLike = np.float32,
    ) -> None:  # fmt: skip
        self.shape: Shape = (1, *space)
        self._dtype = np.dtype(dtype)
        self._table = table
        self._normalise = normalise
        self._changes = changes
        self._order = RecordOrder(len(table), batch, permutation=order)
        self._moments: dict[int, tuple[float, float]] = {}
        self._room = room
        self._kept = dict[Region, ScratchArrays]()
        self._kept_masks: ScratchArrays | None = None

    def labels(self, box: Region) -> Shape:
        return (prod(self.shape),) if self._table[0].mask is not None else ()

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        records = self._order.records(step, lo, hi).tolist()
        changes = self._changes(step, lo, hi) if self._changes else [SAME] * len(records)
        if out.label is not None:
            for row, (record, change) in enumerate(zip(records, changes, strict=True)):
                out.label[row] = self._label(record, change.flip)
        if out.data is not None and out.data.size:
            for row, record, change in zip(out.data, records, changes, strict=True):
                row[0] = change.with_drift(self._volume(record, box[1:], change.flip), box[1:], self.shape[1:])

    def _label(self, record: int, flip: bool) -> Any:
        """The class of a record, or those of its voxels."""
        scan = self._table[record]
        if scan.mask is not None:
            classes = self._mask(record)
            return (classes[::-1] if flip else classes).reshape(-1)
        if scan.label is None:
            raise DataError(f"{scan.place}: expected a label, got none; add a column `label` or `mask`")
        return scan.label

    def _mask(self, record: int) -> NDArray[Any]:
        """The classes of a record's voxels, not flipped."""
        if self._kept_masks is None:
            self._kept_masks = ScratchArrays(len(self._table), self.shape[1:], self._room, np.int32)
            self._room -= self._kept_masks.nbytes
        found = self._kept_masks.get(record)
        if found is None:
            found = read_mask(open_mask(self._table[record]), self.shape[1:])
            self._kept_masks.put(record, found)
        return found

    def _volume(self, record: int, box: Region, flip: bool) -> NDArray[Any]:
        # Kept without flip: a flipped box is the mirrored box of the unflipped volume, read backwards. So one kept
        # array serves both cases. The drift is not kept, as it differs in each pass.
        if flip:
            width = self.shape[1]
            (lo, hi) = box[0]
            box = ((width - hi, width - lo), *box[1:])
        kept = self._scratch(box)
        found = kept.get(record)
        if found is None:
            found = self._resampled(record, box)
            kept.put(record, found)
        return found[::-1] if flip else found

    def _scratch(self, box: Region) -> ScratchArrays:
        """The arrays that keep the volumes of a box. If the first axis is cut, a flipped box is another box."""
        if box not in self._kept:
            self._kept[box] = ScratchArrays(len(self._table), extent(box), self._room, self._dtype)
            self._room -= self._kept[box].nbytes
        return self._kept[box]

    def _resampled(self, record: int, box: Region) -> NDArray[Any]:
        """Read, normalise and resize ``box`` of a record, as (*box)."""
        scan = NiftiScan(self._table[record].path)
        parts = [
            _resize_taps(n, m, *ends, self._dtype) for n, m, ends in zip(scan.shape, self.shape[1:], box, strict=True)
        ]
        found = scan.read(tuple((first, first + weights.shape[1]) for first, weights in parts), self._dtype)
        if self._normalise:
            mean, deviation = map(self._dtype.type, self._moments_of(record, scan))
            found = np.where(found == 0, self._dtype.type(0), (found - mean) / deviation)
        for axis, (_, weights) in enumerate(parts):
            found = np.moveaxis(np.tensordot(weights, found, (1, axis)), 0, axis)
        return found

    def _moments_of(self, record: int, scan: NiftiScan) -> tuple[float, float]:
        """Mean and standard deviation of the voxels that are not 0; computed once per scan."""
        if record not in self._moments:
            self._moments[record] = voxel_moments(scan, self._dtype)
        return self._moments[record]


@lru_cache(maxsize=64)
def _resize_taps(source: int, target: int, lo: int, hi: int, dtype: np.dtype[Any]) -> tuple[int, NDArray[Any]]:
    """The interpolation of elements ``lo`` to ``hi`` of an axis that is resized from ``source`` to ``target``.

    Returns the first source element with a weight, and the weights (hi − lo, elements) from that element on.
    """
    weights = interpolation_matrix(source, target, dtype)[lo:hi]
    used = np.flatnonzero(weights.any(axis=0))
    first = int(used[0])
    last = int(used[-1])
    return first, weights[:, first : last + 1]


def voxel_moments(scan: NiftiScan, dtype: DTypeLike = np.float32) -> tuple[float, float]:
    """Mean and standard deviation of the voxels that are not 0, read as ``dtype``; (0, 1) if they are all equal.

    Raises DataError if a voxel is not finite.
    """
    count = 0
    total = 0.0
    squares = 0.0
    for slab in scan.slabs(dtype):
        voxels = slab[slab != 0].astype(np.float64)
        count = count + voxels.size
        total = total + voxels.sum()
        squares = squares + (voxels * voxels).sum()
    if not np.isfinite(squares):
        raise DataError(f"{scan.path}: expected finite voxels, got some that are not; make the scan anew")
    mean = total / max(count, 1)
    variance = squares / max(count, 1) - mean * mean
    # The difference of two large sums may leave a small variance where the true one is 0: compare it with the mean.
    return (mean, variance**0.5) if variance > 1e-12 * mean * mean else (0.0, 1.0)
