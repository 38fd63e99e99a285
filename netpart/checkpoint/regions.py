"""Reader and Writer: a checkpoint by the regions of its tensors, in a file of this host or of another."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from netpart.spec import Region, Shape


class RegionWriter(Protocol):
    """A checkpoint that is being written, as CheckpointWriter."""

    def write_region(self, name: str, box: Region, array: NDArray[Any], shape: Shape | None = None) -> None: ...


class RegionReader(Protocol):
    """A checkpoint that is read, as Checkpoint."""

    def read_region(self, name: str, box: Region, out: NDArray[Any], shape: Shape | None = None) -> None: ...
