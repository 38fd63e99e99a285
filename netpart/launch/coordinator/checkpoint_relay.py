"""CheckpointRelay: reads and writes regions of checkpoints for workers on other hosts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.errors import DataError, StorageFailed, clip_text, os_error_text
from netpart.launch.control.sent_regions import PIECE_BYTES, read_box
from netpart.launch.coordinator.checkpoint_book import CheckpointBook
from netpart.launch.member.checkpoint_files import region_dtype, region_elements
from netpart.proto.control_pb2 import RegionProto
from netpart.spec import extent, size


class CheckpointRelay:
    """Writer into the open files of ``saving``, and reader of ``sources``, the files of the restored checkpoint.

    Raises DataError for any other file, and for whatever a checkpoint refuses.
    """

    def __init__(self, saving: CheckpointBook, sources: set[str]) -> None:
        self.saving = saving
        self.sources = sources

    def write(self, region: RegionProto) -> RegionProto:
        """Write the elements in ``region``; return the empty answer."""
        file = self.saving.file(Path(region.path))
        if file is None:
            raise DataError(f"a worker: expected to write to a checkpoint that is open, got {clip_text(region.path)!r}")
        try:
            file.write_region(region.name, read_box(region), region_elements(region), tuple(region.shape) or None)
        except OSError as error:
            hint = f"expected room for a checkpoint, got {os_error_text(error)}; free some disk space"
            raise StorageFailed(f"{region.path}: {hint}") from error
        return RegionProto()

    def read(self, region: RegionProto) -> RegionProto:
        """Read the requested box; return the region with its elements."""
        if region.path not in self.sources:
            raise DataError(
                f"a worker: expected to read the checkpoint that this run starts from, got {clip_text(region.path)!r}"
            )
        # The box comes over the network, so its size is checked before memory is allocated for it.
        if (asked := size(read_box(region)) * region_dtype(region).itemsize) > max(
            PIECE_BYTES, region_dtype(region).itemsize
        ):
            raise DataError(f"{region.path}: expected a piece of at most {PIECE_BYTES} bytes, got one of {asked}")
        values = np.empty(extent(read_box(region)), region_dtype(region))
        with open_checkpoint(Path(region.path)) as file:
            file.read_region(region.name, read_box(region), values, tuple(region.shape) or None)
        answer = RegionProto()
        answer.CopyFrom(region)
        answer.data = values.tobytes()
        return answer
