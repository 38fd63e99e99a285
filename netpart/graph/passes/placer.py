"""LayerPlacer: the placement of one layer, from its short form or its long one.

Short form: ``partition_dim`` and ``location``. Long form: ``cut`` blocks, several of which make a grid. What neither
can say is listed shard by shard (``listed.py``).
A cut written on a layer is taken or refused; an inherited one that the layer cannot take falls back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, FieldPath
from netpart.graph.net import Node
from netpart.graph.passes.listed import ListedShards
from netpart.layers.layer import INPUT
from netpart.layers.rows import RowInput
from netpart.proto.cut_pb2 import CutProto, Remainder
from netpart.spec import RECORD, Placement, Region, Shard, whole

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import LayerProto, NetProto

REPLICA = "REPLICA"
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Cut:
    """One direction of a grid: ranges along an axis, along the contraction (INPUT), or REPLICA copies."""

    over: int | str
    ranges: Ranges


@dataclass(frozen=True)
class Fallback:
    """A cut that ``node`` could not take, and what was done instead (``netpart check`` shows it).

    ``axis`` is the net's partition_dim, or the name of the scheme, that asked for it.
    """

    node: str
    axis: int | str
    taken: str


def ranges(extent: int, parts: int, spread: bool) -> Ranges:
    """Cuts ``extent`` into ``parts``: the last takes the rest (8 on 3: 2, 2, 4), or evenly at floor(i*n/k)."""
    bounds = [i * extent // parts if spread else i * (extent // parts) for i in range(parts)] + [extent]
    return tuple(pairwise(bounds))


def scaled(sizes: Sequence[int], extent: int) -> Ranges:
    """Cuts ``extent`` in proportion to ``sizes`` (equal to them if they sum to it)."""
    total = sum(sizes)
    bounds = [0, *(s * extent // total for s in accumulate(sizes))]
    return tuple(pairwise(bounds))


class LayerPlacer:
    """Works out the placement of one layer in the net of ``phase``."""

    def __init__(self, node: Node, conf: NetProto, workers: int, full_rows: int, phase: str) -> None:
        self.node, self.layer, self.net_conf, self.workers, self.full_rows, self.phase = (
            node, node.layer, conf, workers, full_rows, phase,
        )  # fmt: skip
        self.conf: LayerProto = node.conf
        self.location = list(self.conf.location)

    def place(self, fallbacks: list[Fallback]) -> Placement:
        placement = self.parts(fallbacks)
        return replace(placement, sum_gradient=True) if self.conf.sum_gradient else placement

    def parts(self, fallbacks: list[Fallback]) -> Placement:
        self.check_location(self.location, ("location",))
        if self.layer.output.dtype == RECORD:
            return self.whole()
        if self.conf.shard:
            return self.shards()
        if self.conf.cut:
            return self.grid([self.long_cut(c, i) for i, c in enumerate(self.conf.cut)], self.long_location())
        if len(self.location) == 1:
            return self.whole()
        if self.conf.HasField("partition_dim"):
            return self.written(self.conf.partition_dim)
        return self.inherited(self.net_conf.partition_dim, fallbacks)

    def shards(self) -> Placement:
        also = [name for name in ("cut", "location") if getattr(self.conf, name)]
        if also or self.conf.HasField("partition_dim"):
            got = f"{(also or ['partition_dim'])[0]} as well"
            raise ConfigError(self.node.name, "shards alone", got, "remove one of the two", at=("shard",))
        return ListedShards(self.node, self.phase, self.workers).place()

    def whole(self) -> Placement:
        return Placement((Shard(self.location[0] if self.location else 0, self.layer.output.whole),))

    def written(self, axis: int) -> Placement:
        at = ("partition_dim",)
        if axis == -1:
            if len(self.location) > 1:
                hint = "give one location, a partition_dim, or cut { over: REPLICA }"
                raise ConfigError(self.node.name, "one location for an uncut layer", f"{self.location}", hint, at=at)
            return self.whole()
        parts = len(self.location) or self.workers
        return self.grid([Cut(axis, self.axis_ranges(axis, parts, at))], self.location)

    def inherited(self, axis: int, fallbacks: list[Fallback]) -> Placement:
        """Takes the net's ``partition_dim``, or falls back: inputs whole, losses, outputs and others on the batch."""
        parts = len(self.location) or self.workers
        if axis == -1 or parts == 1:
            return self.whole()
        for candidate in [axis] if self.layer.is_input else [0] if self.layer.metrics else [axis, 0]:
            if candidate in self.layer.cuts() and self.extent(candidate) >= parts:
                if candidate != axis:
                    fallbacks.append(Fallback(self.node.name, axis, "batch"))
                return self.grid([Cut(candidate, self.axis_ranges(candidate, parts, ()))], self.location)
        fallbacks.append(Fallback(self.node.name, axis, "whole"))
        return self.whole()

    def long_cut(self, cut: CutProto, i: int) -> Cut:
        at: FieldPath = ("cut", i)
        parts = cut.parts or len(cut.sizes) or len(cut.location) or len(self.location) or self.workers
        if parts < 1:
            raise ConfigError(self.node.name, "1 part or more", str(parts), "write parts: 2", at=(*at, "parts"))
        if cut.over == CutProto.REPLICA:
            return Cut(REPLICA, self.copies(parts, list(cut.sizes), at))
        if cut.over == CutProto.INPUT:
            return Cut(INPUT, self.input_ranges(parts, list(cut.sizes), at))
        return Cut(cut.axis, self.axis_ranges(cut.axis, parts, at, list(cut.sizes)))

    def copies(self, parts: int, sizes: list[int], at: FieldPath) -> Ranges:
        if sizes:
            got, hint = str(sizes), "write parts: every copy is whole"
            raise ConfigError(self.node.name, "no sizes of REPLICA copies", got, hint, at=(*at, "sizes"))
        return tuple((k, k + 1) for k in range(parts))

    def long_location(self) -> list[int]:
        """Workers of the grid's cells in row-major order: the layer's, or those of the one cut that has some."""
        listed = [list(c.location) for c in self.conf.cut if c.location]
        if len(listed) + bool(self.location) > 1:
            hint = "write them once, in row-major order of the grid"
            raise ConfigError(self.node.name, "one list of locations", "several", hint, at=("cut",))
        location = listed[0] if listed else self.location
        self.check_location(location, ("cut",))
        return location

    def axis_ranges(self, axis: int, parts: int, at: FieldPath, sizes: list[int] | None = None) -> Ranges:
        allowed = [a for a in self.layer.cuts() if a != INPUT]
        if axis not in allowed:
            got, hint = f"a cut on axis {axis}", f"its shape is {self.layer.output.shape}"
            raise ConfigError(self.node.name, f"a cut on {self.names(allowed)}", got, hint, at=at)
        rows = self.layer.row_sizes() if axis == 0 and isinstance(self.layer, RowInput) else ()
        sizes = sizes or (list(rows) if len(rows) == parts else [])
        if sizes:
            self.check_sizes(sizes, parts, self.extent(axis), at)
            return scaled(sizes, self.layer.output.shape[axis])
        self.check_parts(self.extent(axis), parts, self.names([axis]), at)
        return ranges(self.layer.output.shape[axis], parts, axis >= 2 or self.spread)

    def input_ranges(self, parts: int, sizes: list[int], at: FieldPath) -> Ranges:
        space = self.layer.contraction()
        if space is None or INPUT not in self.layer.cuts():
            hint = "only a layer that adds up its inputs can be cut on them, such as an inner product"
            raise ConfigError(self.node.name, "a cut on an axis", "a cut over INPUT", hint, at=at)
        if sizes:
            self.check_sizes(sizes, parts, space[0], at)
            return scaled(sizes, space[0])
        self.check_parts(space[0], parts, "the input's axis 1", at)
        return ranges(space[0], parts, self.spread)

    def grid(self, cuts: list[Cut], location: list[int]) -> Placement:
        """Shards of every cell of the grid, in row-major order; empty cells are dropped."""
        self.check_once(cuts)
        cells = list(product(*(range(len(c.ranges)) for c in cuts)))
        workers = location or list(range(len(cells)))
        if len(workers) != len(cells) or max(workers) >= self.workers:
            got = f"{len(workers)} locations" if location else f"{self.workers} workers"
            hint = f"list {len(cells)} locations" if location else f"run with --workers {len(cells)} or list locations"
            raise ConfigError(self.node.name, f"a worker for each of {len(cells)} parts", got, hint, at=("cut",))
        shards = [self.shard(cuts, cell, w) for cell, w in zip(cells, workers, strict=True)]
        filled = tuple(s for s in shards if all(lo < hi for lo, hi in s.region))
        if len(set(filled)) < len(filled):
            hint = "give each copy a worker of its own"
            raise ConfigError(self.node.name, "copies on different workers", f"locations {workers}", hint, at=("cut",))
        return Placement(filled)

    def check_once(self, cuts: list[Cut]) -> None:
        """Raises ConfigError if two cuts are of the same thing: a grid has one cut in each direction."""
        for i, cut in enumerate(cuts):
            if any(cut.over == other.over for other in cuts[:i]):
                what = f"axis {cut.over}" if isinstance(cut.over, int) else cut.over
                hint = "join them into one cut with more parts"
                raise ConfigError(self.node.name, f"one cut of {what}", "a second one", hint, at=("cut", i))

    def shard(self, cuts: list[Cut], cell: tuple[int, ...], worker: int) -> Shard:
        region: list[tuple[int, int]] = list(self.layer.output.whole)
        term: Region | None = None
        for cut, i in zip(cuts, cell, strict=True):
            if cut.over == INPUT:
                space = self.layer.contraction() or ()
                term = (cut.ranges[i], *whole(space[1:]))
            elif isinstance(cut.over, int):
                region[cut.over] = cut.ranges[i]
        return Shard(worker, tuple(region), term)

    @property
    def spread(self) -> bool:
        owner = self.conf if self.conf.HasField("remainder") else self.net_conf
        return owner.remainder == Remainder.SPREAD

    def extent(self, axis: int) -> int:
        """Extent of ``axis``; of the batch, that of the whole mini-batch."""
        return self.full_rows if axis == 0 else self.layer.output.shape[axis]

    def check_parts(self, extent: int, parts: int, what: str, at: FieldPath) -> None:
        if extent < parts:
            fewer = "name fewer locations" if self.location else f"run with --workers {max(1, extent)}"
            hint = f"cut it into at most {extent} parts, or {fewer}"
            raise ConfigError(self.node.name, f"{what} at least as long as its {parts} parts", f"{extent}", hint, at=at)

    def check_sizes(self, sizes: list[int], parts: int, extent: int, at: FieldPath) -> None:
        if len(sizes) != parts or sum(sizes) != extent or min(sizes) < 1:
            hint = "every part needs at least 1"
            expected = f"{parts} sizes that sum to {extent}"
            raise ConfigError(self.node.name, expected, f"{sizes}", hint, at=at)

    def check_location(self, location: list[int], at: FieldPath) -> None:
        for i, worker in enumerate(location):
            if not 0 <= worker < self.workers:
                hint = f"run with --workers {worker + 1}" if worker > 0 else "workers count from 0"
                expected = f"a location below the {self.workers} workers"
                raise ConfigError(
                    self.node.name, expected, str(worker), hint, at=(*at, i) if at == ("location",) else at
                )

    def names(self, axes: Sequence[int | str]) -> str:
        named = {0: "0 (batch)", 1: "1 (neurons, channels)", 2: "2 (space)", 3: "3 (space)", 4: "4 (space)"}
        return "axis " + " or ".join(named.get(a, str(a)) for a in axes if isinstance(a, int))
