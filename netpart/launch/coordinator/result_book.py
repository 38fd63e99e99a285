"""ResultBook: puts the pieces of a result layer, as its worker sends them, together to mini-batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.choices import RESULT
from netpart.graph.partition import Partition
from netpart.launch.control.sent_regions import read_box
from netpart.launch.member.checkpoint_files import region_dtype, region_elements
from netpart.proto.control_pb2 import RegionProto
from netpart.proto.element import float_size
from netpart.spec import contains, relative_slices, size, whole_region


class ResultBook:
    """The mini-batch of results that is arriving. They arrive in order, each in pieces that do not overlap."""

    def __init__(self, partition: Partition) -> None:
        self._shape = partition.graph.net.by_name[RESULT].layer.output.shape
        self._dtype = np.dtype(f"f{float_size(partition.job)}")
        self._batch = 0
        self._begin()

    def add(self, region: RegionProto) -> tuple[int, NDArray[Any]] | None:
        """Take a piece. Return the number of the mini-batch and its values once it is complete, None before.

        Raises ValueError for a piece that is not of the current mini-batch.
        """
        box, whole = read_box(region), whole_region(self._shape)
        if region.name != str(self._batch) or region_dtype(region) != self._dtype or tuple(region.shape) != self._shape:
            raise ValueError(f"results {region.name[:20]!r} of shape {tuple(region.shape)[:8]}, {region.dtype[:20]}")
        if len(box) != len(whole) or not contains(whole, box):
            raise ValueError(f"results of the region {box[:8]}")
        self._values[relative_slices(box, whole)] = region_elements(region)
        self._missing -= size(box)
        if self._missing > 0:
            return None
        done = self._batch, self._values
        self._batch += 1
        self._begin()
        return done

    def _begin(self) -> None:
        """Begin a mini-batch, in an array of its own: the last one may still be in use."""
        self._values = np.empty(self._shape, self._dtype)
        self._missing = self._values.size
