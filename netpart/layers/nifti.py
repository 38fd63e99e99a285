"""kNiftiInput: labelled volumes of NIfTI files."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.data.nifti import Scan
from netpart.data.prefetch import Prefetched
from netpart.data.scans import Labelled, Scans, read_table
from netpart.data.source import RowSource
from netpart.kernels import philox
from netpart.layers.checks import fault
from netpart.layers.rows import RowInput
from netpart.layers.stores import data_path
from netpart.spec import Shape

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
        order, mirror = philox.key(seed, self.name, "shuffle"), philox.key(seed, self.name, "flip")
        scans = Scans(
            table,
            self.output.shape[2:],
            batch=batch,
            normalise=conf.normalise,
            order=(lambda epoch: philox.permutation(order, epoch, len(table))) if conf.shuffle else None,
            flip=(lambda s, lo, hi: philox.integers(mirror, s, phase, (lo, hi), 2)) if self._flips(phase) else None,
        )
        return Prefetched(scans) if conf.prefetching else scans

    def _flips(self, phase: int) -> bool:
        return bool(self.conf.nifti_conf.flip and phase == TRAIN)
