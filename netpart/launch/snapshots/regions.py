"""Names of what snapshots hold: a region of a tensor of a checkpoint, and the snapshot that it is of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netpart.launch.control.sent_regions import read_box, read_dtype, write_box
from netpart.proto.control_pb2 import KeptRegionProto
from netpart.spec import Region, size

PARAMETERS, UPDATER = KINDS = "parameters", "updater"
"""The file of a checkpoint in which a tensor would be."""
NUMBERS = ("float32", "float64")
"""Element types of regions."""


class Generation(NamedTuple):
    """A snapshot: the number of the team that took it, and the steps that were done. Later ones compare greater."""

    team: int
    step: int


class RegionName(NamedTuple):
    """A region of a tensor: its file (one of KINDS), the name of the tensor there, the region in whole coordinates."""

    kind: str
    name: str
    box: Region
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes of the region."""
        return size(self.box) * np.dtype(self.dtype).itemsize


def encode_region(name: RegionName, given: KeptRegionProto | None = None) -> KeptRegionProto:
    """``name`` as a message, written to the one that is ``given``, if any."""
    proto = KeptRegionProto() if given is None else given
    proto.kind, proto.name, proto.dtype = name.kind, name.name, name.dtype
    write_box(proto, name.box)
    return proto


def decode_region(proto: KeptRegionProto) -> RegionName:
    """The inverse of ``encode_region``, for a message of anyone. Raises ValueError for a region that cannot be."""
    box, dtype = read_box(proto), read_dtype(proto.dtype, NUMBERS)
    if proto.kind not in KINDS:
        raise ValueError(f"expected regions of {KINDS}, got {proto.kind[:20]!r}")
    if any(not 0 <= lo < hi for lo, hi in box):
        raise ValueError(f"expected a region that is not empty, got {box}")
    return RegionName(proto.kind, proto.name, box, str(dtype))
