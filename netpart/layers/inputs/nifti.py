"""kNiftiInput: volumes of NIfTI files, with labels or masks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.remote.url_path import DataPath, url_settings
from netpart.data.row_source import RowSource
from netpart.data.scans.augmentation import NODES, Changes, ScanChange
from netpart.data.scans.nifti import NiftiScan
from netpart.data.scans.resampled_scans import ScanRows
from netpart.data.scans.scan_masks import find_absent_mask, refuse_mask_labels
from netpart.data.scans.scan_table import LabelledScan, read_scan_table, refuse_scan_labels
from netpart.errors import MissingData
from netpart.kernels import philox
from netpart.layers import UNLABELLED_SCANS
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path
from netpart.spec import INT, Region, Shape, Spec, whole_region

TRAIN = 1


@final
class NiftiInput(RowInput):
    """Outputs data (batch, 1, right, anterior, superior) and label: (batch,), or (batch, voxels) of masks.

    A part reads only the voxels of its box, and of a mask all.

    The random changes of a scan depend on (seed, name, step, global row) only, the order of the scans on (seed, name).
    """

    types: ClassVar[tuple[str, ...]] = ("kNiftiInput",)
    confs: ClassVar[tuple[str, ...]] = ("nifti_conf",)
    field = "nifti_conf"
    _table: list[LabelledScan] | None = None

    def infer(self) -> tuple[Spec, ...]:
        first = self._first_scan()
        self.labelled = self.conf.user_type != UNLABELLED_SCANS and (first.label is not None or first.mask is not None)
        data, *labels = super().infer()
        return data, *(Spec((*each.shape, *self._places(data.shape)), INT) for each in labels)

    def _places(self, shape: Shape) -> Shape:
        """The axes of the labels of a row, of data of ``shape``."""
        return (prod(shape[1:]),) if self._first_scan().mask is not None else ()

    def _first_scan(self) -> LabelledScan:
        """The first line of the table. Without the table it is taken to have a label."""
        try:
            return self.table()[0]
        except MissingData:
            return LabelledScan(Path(), 0)

    def sample(self) -> Shape:
        conf = self.conf.nifti_conf
        at_least(self, 0, conf.cache_mib, self.field, "cache_mib")
        if conf.drift < 0:
            raise fault(self, "a drift of 0 or more", f"{conf.drift:g}", "write its size", self.field, "drift")
        shape = tuple(conf.shape) or NiftiScan(self.table()[0].path).shape
        if len(shape) != 3 or min(shape) < 1:
            raise fault(
                self, "the extents of three axes", str(shape), "write shape: once per axis", self.field, "shape"
            )
        return (1, *shape)

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 2, 3, 4)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return region, *((region[0], *label.whole[1:]) for label in self.outputs[1:])

    def table(self) -> list[LabelledScan]:
        """The scans and their classes or masks, which are read once; raises DataError as ``read_scan_table`` does."""
        if self._table is None:
            path = data_path(self, self.conf.nifti_conf.path, self.field, "path")
            self._table = read_scan_table(path, url_settings(self.data_cache))
        return self._table

    def records(self) -> int | None:
        return len(self.table())

    def data_files(self) -> Sequence[DataPath]:
        table = data_path(self, self.conf.nifti_conf.path, self.field, "path")
        files = [each for scan in self.table() for each in (scan.path, scan.mask) if each is not None]
        return [table, *dict.fromkeys(files)]

    def row_files(self) -> Sequence[DataPath]:
        return [scan.path for scan in self.table()]

    def check_data(self, phase: int = 1) -> None:
        NiftiScan(self.table()[0].path)

    def check_labels(self, classes: int, ignored: int | None = None) -> None:
        if self._first_scan().mask is not None:
            find_absent_mask(self.table())
            refuse_mask_labels(self.table(), classes, ignored)
        else:
            refuse_scan_labels(self.table(), classes, ignored)

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.conf.nifti_conf
        table = self.table()
        # One stream per purpose ("shuffle", "flip", "drift ..."): switching one option on leaves the draws of the
        # others as they are.
        order = philox.stream_key(seed, self.name, "shuffle")
        scans = ScanRows(
            table,
            self.output.shape[2:],
            batch=batch,
            normalise=conf.normalise,
            order=(lambda epoch: philox.draw_permutation(order, epoch, len(table))) if conf.shuffle else None,
            changes=self.changes(seed, phase) if phase == TRAIN else None,
            room=conf.cache_mib << 20,
            dtype=dtype,
        )
        return scans

    def changes(self, seed: int, phase: int) -> Changes | None:
        """The function that draws the change of each row; None if the job asks for no change."""
        conf = self.conf.nifti_conf
        mirror = philox.stream_key(seed, self.name, "flip")

        def drawn(step: int, lo: int, hi: int) -> list[ScanChange]:
            flips = philox.draw_integers(mirror, step, phase, (lo, hi), 2) if conf.flip else [0] * (hi - lo)
            rows = enumerate(flips, start=lo)
            return [ScanChange(bool(flip), self.drift(seed, phase, step, row)) for row, flip in rows]

        return drawn if conf.flip or conf.drift else None

    def drift(self, seed: int, phase: int, step: int, row: int) -> NDArray[Any] | None:
        """The values, on a grid of NODES^3 points, of the smooth field that is added to a row; None without drift."""
        size = self.conf.nifti_conf.drift
        places = (NODES,) * 3
        stream = philox.stream_key(seed, self.name, f"drift {phase} {step} {row}")
        return size * (2 * philox.draw_uniforms(stream, whole_region(places), places) - 1) if size else None
