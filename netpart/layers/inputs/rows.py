"""Base class of input layers that read rows: a data output, a label output, and rows by global number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.prefetched_rows import PrefetchedRows
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.data.row_source import RowSource
from netpart.kernels.op import Clock, Op
from netpart.layers.checks import check_sources, fault
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.spec import INT, Region, Shape, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

PREFETCHING = "prefetching"
"""The name of the field, in the confs that have one."""
SYNTHETIC = "synthetic_conf"
ITEM = 4
"""Bytes of a number of a row."""


class RowInput(Layer):
    """Outputs data (batch, *sample) and label (batch,). A part reads its own rows and no others.

    The content of a row depends on (step, global row) only. So every phase starts at its first record, and a cut run,
    a micro-batch and a resumed run read the same rows as the uncut run.
    """

    is_input: ClassVar[bool] = True
    output_names: tuple[str, ...] = ("data", "label")
    field: str
    """The LayerProto field of the type's conf, which has a repeated ``batchsize``."""
    labelled: bool = True
    targets: int = 0
    """The number of targets of a row: numbers to predict, which take the place of labels. 0: it has none."""
    reads_targets: ClassVar[bool] = False
    """True if a job may write target: true in the conf."""
    reads_tokens: ClassVar[bool] = False
    """True if the data are tokens, which a layer reads as int."""

    @abstractmethod
    def sample(self) -> Shape:
        """Shape of one row; may open the data if the conf does not set it."""

    @abstractmethod
    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        """Open the source of the rows of mini-batches of ``batch`` rows; ``dtype`` is the compute dtype.

        Raises DataError if the data cannot be used.
        """

    def open_ahead(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        """The source of ``open``, which reads ahead if it ``prefetches``."""
        source = self.open(batch, seed, phase, dtype)
        return PrefetchedRows(source) if self.prefetches() else source

    def prefetches(self) -> bool:
        """True if a thread reads the rows of the next step while this one is computed: if the conf says so or, where it
        has no such field, if the data is at a URL."""
        conf = getattr(self.conf, self.field)
        if PREFETCHING in conf.DESCRIPTOR.fields_by_name:
            return bool(conf.prefetching)
        return any(isinstance(path, UrlPath) for path in self.data_files() or ())

    def kept_bytes(self, region: Region) -> int:
        """Bytes that a part keeps besides the rows of a step: one more mini-batch if the conf lets a thread read ahead,
        and the mini-batches that are repeated."""
        conf = getattr(self.conf, self.field)
        ahead = PREFETCHING in conf.DESCRIPTOR.fields_by_name and bool(conf.prefetching)
        repeated = self.conf.synthetic_conf.batches if SYNTHETIC in type(self).confs else 0
        return (ahead + repeated) * ITEM * sum(map(size, self.outputs_of(region)))

    def records(self) -> int | None:
        """Rows of one pass over the data; None if the data is endless. May open the data."""
        return None

    def rows_per_pass(self, phase: int) -> int | None:
        """Rows in which ``phase`` sees all of its data once; None if the data is endless. May open the data."""
        return self.records()

    def data_files(self) -> Sequence[DataPath] | None:
        """The files that a pass over the data reads, each once; none for data that is drawn. None: they are not known.

        May open the data.
        """
        return None

    def row_files(self) -> Sequence[DataPath]:
        """The file of each row, in the order of the data, if each row is a file of its own. May open the data."""
        return ()

    def class_names(self) -> tuple[str, ...]:
        """The names of the classes in the order of their labels, if the data has names. May open the data."""
        return ()

    def column_names(self) -> tuple[str, ...]:
        """The names of the values of a row, if its data has names. May open the data."""
        return ()

    def target_names(self) -> tuple[str, ...]:
        """The names of the targets of a row, if its data has names. May open the data."""
        return ()

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self)
        if not self.conf.HasField(self.field):
            raise fault(self, f"a {self.field}", "none", f"add {self.field} {{ ... }}")
        if getattr(getattr(self.conf, self.field), "target", False) and not self.reads_targets:
            hint = "kCSVInput and kArrayInput read targets"
            raise fault(self, "labels that are classes", "target: true", hint, self.field, "target")
        self._open: dict[int, tuple[Clock, RowSource]] = {}
        sizes = self.row_sizes()
        if not sizes or min(sizes) < 1:
            got = ", ".join(map(str, sizes)) or "none"
            raise fault(self, "a batchsize of 1 or more", got, "write the rows per step", self.field, "batchsize")
        rows = self.rows_override or sum(sizes)
        return (Spec((rows, *self.sample())), Spec((rows,), INT))[: 1 + self.labelled]

    def set_targets(self, count: int) -> Spec:
        """Let the second output be ``count`` targets of each row; return its spec."""
        self.targets = count
        self.output_names = ("data", "target")
        return Spec((self.rows_override or sum(self.row_sizes()), count))

    def row_sizes(self) -> tuple[int, ...]:
        """Rows of the mini-batch, one entry per part if the conf repeats batchsize."""
        return tuple(getattr(self.conf, self.field).batchsize)

    def check_data(self, phase: int = 1) -> None:
        self.open(self.output.shape[0], 0, phase)

    def cuts(self) -> tuple[int | str, ...]:
        return (0,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(())

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region, region[:1])[: len(self.outputs)]

    def forward(self, kernels: Kernels, call: Call) -> Op:
        source = self._source(kernels, call)
        first = call.first_row
        (lo, hi) = (first + end for end in call.region[0])
        box = call.region[1:]
        return kernels.feed(
            [*call.y, None][:2], lambda data, label: source.read(call.clock.step, lo, hi, data, label, box)
        )

    def _source(self, kernels: Kernels, call: Call) -> RowSource:
        # The micro-batches of a worker share its clock, so they share one reader and its cache. Other workers in this
        # process have other clocks. The clock is kept in the value: a freed clock's id could be used again.
        if id(call.clock) not in self._open:
            rows = call.rows or self.output.shape[0]
            self._open[id(call.clock)] = call.clock, self.open_ahead(rows, call.seed, call.phase, kernels.dtype)
        return self._open[id(call.clock)][1]
