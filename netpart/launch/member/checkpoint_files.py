"""Checkpoint files as a worker reaches them: files of its own host, or files of the coordinator's host over its link.

Workers on other hosts never write a checkpoint directly, even if they see its folder. A network file system may write
whole pages. Two hosts whose regions share a page would then overwrite each other's bytes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.checksums import WrittenRange
from netpart.checkpoint.regions import RegionReader, RegionWriter
from netpart.checkpoint.safetensors_file import join_checkpoint, open_checkpoint
from netpart.launch.control.sent_regions import read_box, read_dtype, split_box_by_bytes, write_box
from netpart.launch.member.control_client import ControlClient, ControlLink
from netpart.proto.control_pb2 import ControlProto, RegionProto
from netpart.spec import Region, Shape, extent, relative_slices

NUMBERS = ("float16", "float32", "float64", "int8", "uint8", "int32", "int64")
"""Element types that may be sent."""


class CheckpointFiles(Protocol):
    """How to open checkpoints for writing (``join``) and reading (``open``). A writer in a thread of its own has a
    ``link`` of its own."""

    def join(self, path: Path, link: ControlLink | None = None) -> AbstractContextManager[RegionWriter]: ...

    def open(self, path: Path) -> AbstractContextManager[RegionReader]: ...


class _LocalFiles(NamedTuple):
    join: Any
    open: Any


LOCAL: CheckpointFiles = _LocalFiles(lambda path, link=None: join_checkpoint(path), open_checkpoint)
"""Files of this host."""


class RemoteFiles:
    """Files of the coordinator's host."""

    def __init__(self, control: ControlClient) -> None:
        self.control = control

    def join(self, path: Path, link: ControlLink | None = None) -> AbstractContextManager[RegionWriter]:
        return nullcontext(RemoteFile(link or self.control, path))

    def open(self, path: Path) -> AbstractContextManager[RegionReader]:
        return nullcontext(RemoteFile(self.control, path))


class RemoteFile:
    """One file of the coordinator's host. An error there ends the run on the coordinator.

    The next message is sent after the answer to the last one, so neither side accumulates a queue.
    """

    def __init__(self, control: ControlLink, path: Path) -> None:
        self.control = control
        self.path = path
        self.written: dict[str, list[WrittenRange]] = {}  # the coordinator notes what it writes itself

    def write_region(self, name: str, box: Region, array: NDArray[Any], shape: Shape | None = None) -> None:
        """Write a box of a tensor, piece by piece; return when all pieces are written."""
        for piece in split_box_by_bytes(box, array.itemsize):
            message = ControlProto()
            _describe_region(message.region_write, self.path, name, piece, array.dtype, shape or ())
            message.region_write.data = array[relative_slices(piece, box)].tobytes()
            self.control.send(message)
            self.control.receive("region")

    def read_region(self, name: str, box: Region, out: NDArray[Any], shape: Shape | None = None) -> None:
        """Read a box of a tensor into ``out``, piece by piece."""
        for piece in split_box_by_bytes(box, out.itemsize):
            message = ControlProto()
            _describe_region(message.region_read, self.path, name, piece, out.dtype, shape or ())
            self.control.send(message)
            out[relative_slices(piece, box)] = region_elements(self.control.receive("region").region)


def _describe_region(
    region: RegionProto, path: Path, name: str, box: Region, dtype: np.dtype[Any], shape: Shape
) -> None:
    """Store in ``region`` which elements of which tensor it refers to."""
    region.path = str(path)
    region.name = name
    region.dtype = str(dtype)
    write_box(region, box)
    region.shape.extend(shape)


def region_dtype(region: RegionProto) -> np.dtype[Any]:
    """The element type of ``region``. Raises ValueError for a type that is not numeric."""
    return read_dtype(region.dtype, NUMBERS)


def region_elements(region: RegionProto) -> NDArray[Any]:
    """The elements in ``region``, read-only, in the shape of its box."""
    values: NDArray[Any] = np.frombuffer(region.data, region_dtype(region)).reshape(extent(read_box(region)))
    return values
