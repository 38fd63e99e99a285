"""Cuts: the ranges into which a layer is cut in one direction, as its conf asks, or the error if it cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, FieldPath
from netpart.graph.net import Node
from netpart.graph.passes.uneven_cuts import Ranges, cut_by_sizes, cut_extent
from netpart.layers.inputs.rows import RowInput
from netpart.layers.layer import INPUT
from netpart.proto.cut_pb2 import CutProto, Remainder

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import NetProto

REPLICA = "REPLICA"


@dataclass(frozen=True)
class GridCut:
    """One direction of a grid: ranges along an axis, ranges of the contraction (INPUT), or REPLICA copies."""

    over: int | str
    ranges: Ranges


class LayerCuts:
    """The cuts of ``node``, into as many parts as it has locations, or else as there are ``workers``.

    ``full_rows`` is the number of rows that the layer has of the whole mini-batch.
    """

    def __init__(self, node: Node, conf: NetProto, workers: int, full_rows: int, phase: str) -> None:
        self.node = node
        self.layer = node.layer
        self.net_conf = conf
        self.full_rows = full_rows
        self.location = list(node.conf.location)
        self.phase = phase
        self.parts = len(self.location) or workers
        """Parts of a cut that does not set their number."""

    def requested_cut(self, cut: CutProto, i: int) -> GridCut:
        """The cut that block number ``i`` asks for. Raises ConfigError with the cuts that are possible."""
        at: FieldPath = ("cut", i)
        parts = cut.parts or len(cut.sizes) or len(cut.location) or self.parts
        if cut.over == CutProto.REPLICA:
            return GridCut(REPLICA, self.copies(parts, list(cut.sizes), at))
        if cut.over == CutProto.INPUT:
            return GridCut(INPUT, self.inputs(parts, list(cut.sizes), at))
        return GridCut(cut.axis, self.along(cut.axis, parts, at, list(cut.sizes)))

    def copies(self, parts: int, sizes: list[int], at: FieldPath) -> Ranges:
        if sizes:
            got = str(sizes)
            hint = "write parts: every copy is whole"
            raise ConfigError(self.node.name, "no sizes of REPLICA copies", got, hint, at=(*at, "sizes"))
        return tuple((k, k + 1) for k in range(parts))

    def along(self, axis: int, parts: int, at: FieldPath, sizes: list[int] | None = None) -> Ranges:
        """The ranges of a cut of ``axis`` of the output. Raises ConfigError, at field ``at``, if impossible."""
        allowed = [a for a in self.layer.cuts() if a != INPUT]
        if axis not in allowed:
            got = f"a cut on axis {axis}"
            hint = f"its shape is {self.layer.output.shape}"
            raise ConfigError(self.node.name, f"a cut on {self.names(allowed)}", got, hint, at=at)
        rows = self.layer.row_sizes() if axis == 0 and isinstance(self.layer, RowInput) else ()
        sizes = sizes or (list(rows) if len(rows) == parts else [])
        # Sizes are checked for the whole mini-batch and then scaled to the rows of this micro-batch.
        if sizes:
            self.check_sizes(sizes, parts, self.extent(axis), at)
            return cut_by_sizes(sizes, self.layer.output.shape[axis])
        self.check_parts(self.extent(axis), parts, self.names([axis]), at)
        # Spatial axes are always spread. The option is for the batch and channels, where the default is that of SINGA:
        # the last part takes the rest.
        return cut_extent(self.layer.output.shape[axis], parts, axis >= 2 or self.spread)

    def inputs(self, parts: int, sizes: list[int], at: FieldPath) -> Ranges:
        space = self.layer.contraction()
        if space is None or INPUT not in self.layer.cuts():
            hint = "only a layer that adds up its inputs can be cut on them, such as an inner product"
            raise ConfigError(self.node.name, "a cut on an axis", "a cut over INPUT", hint, at=at)
        if sizes:
            self.check_sizes(sizes, parts, space[0], at)
            return cut_by_sizes(sizes, space[0])
        self.check_parts(space[0], parts, "the input's axis 1", at)
        return cut_extent(space[0], parts, self.spread)

    @property
    def spread(self) -> bool:
        owner = self.node.conf if self.node.conf.HasField("remainder") else self.net_conf
        return owner.remainder == Remainder.SPREAD

    def extent(self, axis: int) -> int:
        """Extent of ``axis``; for the batch that of the whole mini-batch, as a micro-batch may be shorter than its
        parts."""
        return self.full_rows if axis == 0 else self.layer.output.shape[axis]

    def check_parts(self, extent: int, parts: int, what: str, at: FieldPath) -> None:
        if extent < parts:
            fewer = "name fewer locations" if self.location else f"run with --workers {max(1, extent)}"
            hint = f"cut it into at most {extent} parts, or {fewer}"
            raise ConfigError(self.node.name, f"{what} at least as long as its {parts} parts", f"{extent}", hint, at=at)

    def check_sizes(self, sizes: list[int], parts: int, extent: int, at: FieldPath) -> None:
        if len(sizes) != parts or sum(sizes) != extent or min(sizes) < 1:
            hint = "every part needs at least 1"
            if self.phase != "train":
                hint = f"this is the {self.phase} net; with phase: kTrain a cut counts in training alone"
            expected = f"{parts} sizes that sum to {extent}"
            raise ConfigError(self.node.name, expected, f"{sizes}", hint, at=at)

    def names(self, axes: Sequence[int | str]) -> str:
        named = {0: "0 (batch)", 1: "1 (neurons, channels)", 2: "2 (space)", 3: "3 (space)", 4: "4 (space)"}
        return "axis " + " or ".join(named.get(a, str(a)) for a in axes if isinstance(a, int))
