"""RowSource: the base class of what input layers read from: rows of every global mini-batch, or boxes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from netpart.data.parallel_copy import copy_in_pieces
from netpart.spec import Region, Shape, contains, extent, whole_region

Data: TypeAlias = NDArray[Any] | None
Labels: TypeAlias = NDArray[Any] | None
"""Labels, int32, or targets, of the dtype of the data."""


class RowOutputs(NamedTuple):
    """The arrays to fill with rows; None: not wanted."""

    data: Data
    label: Labels

    def put(self, row: int, data: NDArray[Any], label: NDArray[Any]) -> None:
        """Fill row ``row`` of the wanted arrays."""
        for out, values in zip(self, (data, label), strict=True):
            if out is not None:
                out[row] = values

    def copy_from(self, others: RowOutputs) -> None:
        """Copy the wanted arrays from ``others``, which have the same shapes."""
        for out, values in zip(self, others, strict=True):
            if out is not None and values is not None:
                copy_in_pieces(out, values)


class RowSource(ABC):
    """Rows of ``shape``, the same for every reader: the parts of a cut mini-batch read boxes of the same rows."""

    shape: Shape

    def read(
        self, step: int, lo: int, hi: int, data_out: Data, label_out: Labels, box: Region | None = None
    ) -> None:  # fmt: skip
        """Fill rows ``lo`` to ``hi`` (excluded) of the global mini-batch of ``step``; None: not wanted.

        ``data_out``: (hi − lo, *box); ``label_out``: (hi − lo, *labels of the box), int32 or targets. ``box``: the
        region of the row's axes that ``data_out`` holds, by default all. Raises ValueError if the box or an output has
        another shape, DataError for rows that cannot be read, or that have no labels although they are wanted.
        """
        box = whole_region(self.shape) if box is None else box
        if len(box) != len(self.shape) or not contains(whole_region(self.shape), box):
            raise ValueError(f"box: expected a region of a row of shape {self.shape}, got {box}")
        out = RowOutputs(data_out, label_out)
        shapes = (extent(box), self.labels(box))
        for name, array, shape in zip(("data_out", "label_out"), out, shapes, strict=True):
            if array is not None and array.shape != (hi - lo, *shape):
                raise ValueError(f"{name}: expected shape {(hi - lo, *shape)}, got {array.shape}")
        self.fill(step, lo, hi, box, out)

    @abstractmethod
    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        """Fill ``out`` as ``read`` does, which has checked the arguments."""

    def labels(self, box: Region) -> Shape:
        """The shape of the labels of a row, for the region ``box`` of its data; () is one label per row."""
        return ()
