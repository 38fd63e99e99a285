"""kNiftiInput: labelled volumes of NIfTI files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.prefetched_rows import PrefetchedRows
from netpart.data.remote.url_path import DataPath, url_settings
from netpart.data.row_source import RowSource
from netpart.data.scans.augmentation import NODES, Changes, ScanChange
from netpart.data.scans.nifti import NiftiScan
from netpart.data.scans.resampled_scans import ScanRows
from netpart.data.scans.scan_table import LabelledScan, read_scan_table
from netpart.kernels import philox
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path
from netpart.spec import Shape, whole_region

TRAIN = 1


@final
class NiftiInput(RowInput):
    """Outputs data (batch, 1, right, anterior, superior) and label (batch,). A part reads only the voxels of its box.

    The random changes of a scan depend on (seed, name, step, global row) only, the order of the scans on (seed, name).
    """

    types: ClassVar[tuple[str, ...]] = ("kNiftiInput",)
    confs: ClassVar[tuple[str, ...]] = ("nifti_conf",)
    field = "nifti_conf"

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

    def table(self, classes: int | None = None, ignored: int | None = None) -> list[LabelledScan]:
        """The scans and their classes; raises DataError as ``read_scan_table`` does, also for a class of ``classes`` or
        more that is not ``ignored``."""
        path = data_path(self, self.conf.nifti_conf.path, self.field, "path")
        return read_scan_table(path, classes, url_settings(self.data_cache), ignored)

    def records(self) -> int | None:
        return len(self.table())

    def data_files(self) -> Sequence[DataPath]:
        table = data_path(self, self.conf.nifti_conf.path, self.field, "path")
        return [table, *dict.fromkeys(scan.path for scan in self.table())]

    def row_files(self) -> Sequence[DataPath]:
        return [scan.path for scan in self.table()]

    def check_data(self, phase: int = 1) -> None:
        NiftiScan(self.table()[0].path)

    def check_labels(self, classes: int, ignored: int | None = None) -> None:
        self.table(classes, ignored)

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
        return PrefetchedRows(scans) if conf.prefetching else scans

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
