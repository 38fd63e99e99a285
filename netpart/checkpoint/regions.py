"""RegionReader and RegionWriter: a checkpoint accessed by region of its tensors, on this host or on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from netpart.checkpoint.checksums import WrittenRange
from netpart.spec import Region, Shape


class RegionWriter(Protocol):
    """A checkpoint that is being written; see ``CheckpointWriter``."""

    @property
    def written(self) -> Mapping[str, Sequence[WrittenRange]]: ...

    def write_region(self, name: str, box: Region, array: NDArray[Any], shape: Shape | None = None) -> None: ...


class RegionReader(Protocol):
    """A checkpoint that is being read; see ``Checkpoint``."""

    def read_region(self, name: str, box: Region, out: NDArray[Any], shape: Shape | None = None) -> None: ...


@runtime_checkable
class BatchReader(Protocol):
    """A RegionReader for which one call for many regions is faster: (name of a tensor, region, array to fill)."""

    def read_regions(self, wanted: Sequence[tuple[str, Region, NDArray[Any]]]) -> None: ...
