"""kNiftiInput: labelled volumes of NIfTI files."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from netpart.data.change import NODES, Change, Changes
from netpart.data.nifti import Scan
from netpart.data.prefetch import Prefetched
from netpart.data.scans import Labelled, Scans, read_table
from netpart.data.source import RowSource
from netpart.kernels import philox
from netpart.layers.checks import fault
from netpart.layers.rows import RowInput
from netpart.layers.stores import data_path
from netpart.spec import Shape, whole

TRAIN = 1


@final
class NiftiInput(RowInput):
    """Outputs data (batch, 1, right, anterior, superior) and label (batch,). A part reads only what its box comes from.

    Which scans are mirrored depends on (seed, name, step, global row) only, in which order they come on (seed, name).
    """

    types: ClassVar[tuple[str, ...]] = ("kNiftiInput",)
    field = "nifti_conf"

    def sample(self) -> Shape:
        shape = tuple(self.conf.nifti_conf.shape) or Scan(self.table()[0].path).shape
        if len(shape) != 3 or min(shape) < 1:
            raise fault(
                self, "the extents of three axes", str(shape), "write shape: once per axis", self.field, "shape"
            )
        return (1, *shape)

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 2, 3, 4)

    def table(self) -> list[Labelled]:
        """The scans and their classes; raises DataError."""
        return read_table(data_path(self, self.conf.nifti_conf.path, self.field, "path"))

    def records(self) -> int | None:
        return len(self.table())

    def check_data(self, phase: int = 1) -> None:
        Scan(self.table()[0].path)

    def open(self, batch: int, seed: int, phase: int) -> RowSource:
        conf, table = self.conf.nifti_conf, self.table()
        order = philox.key(seed, self.name, "shuffle")
        scans = Scans(
            table,
            self.output.shape[2:],
            batch=batch,
            normalise=conf.normalise,
            order=(lambda epoch: philox.permutation(order, epoch, len(table))) if conf.shuffle else None,
            changes=self.changes(seed, phase) if phase == TRAIN else None,
            most=conf.shift if phase == TRAIN else 0,
            room=conf.cache_mib << 20,
        )
        return Prefetched(scans) if conf.prefetching else scans

    def changes(self, seed: int, phase: int) -> Changes | None:
        """What is done to the scans; None if nothing is."""
        conf = self.conf.nifti_conf
        mirror, move = (philox.key(seed, self.name, purpose) for purpose in ("flip", "shift"))

        def drawn(step: int, lo: int, hi: int) -> list[Change]:
            rows = lo, hi
            flips = philox.integers(mirror, step, phase, rows, 2) if conf.flip else [0] * (hi - lo)
            places = philox.integers(move, step, phase, rows, (2 * conf.shift + 1) ** 3)
            shifts = np.transpose(np.unravel_index(places, (2 * conf.shift + 1,) * 3)) - conf.shift
            drifts = [self.drift(seed, phase, step, row) for row in range(lo, hi)]
            return [Change(bool(f), tuple(s), d) for f, s, d in zip(flips, shifts.tolist(), drifts, strict=True)]

        return drawn if conf.flip or conf.shift or conf.drift else None

    def drift(self, seed: int, phase: int, step: int, row: int) -> NDArray[Any] | None:
        """The field that is added to a row, at a few places."""
        size, places = self.conf.nifti_conf.drift, (NODES,) * 3
        stream = philox.key(seed, self.name, f"drift {phase} {step} {row}")
        return size * (2 * philox.uniforms(stream, whole(places), places) - 1) if size else None
