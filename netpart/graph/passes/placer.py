"""LayerPlacer: the placement of one layer, from its short form or its long form.

Short form: ``partition_dim`` and ``location``. Long form: ``cut`` blocks; several of them make a grid. Placements that
neither can express are listed shard by shard (``listed_shards.py``). A cut that names a phase counts only in that
phase. A cut written on a layer is applied or refused; an inherited cut that the layer cannot take falls back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, FieldPath
from netpart.graph.net import Node
from netpart.graph.passes.listed_shards import ListedShards
from netpart.graph.passes.partition_dim import GridCut, LayerCuts
from netpart.layers.layer import INPUT
from netpart.proto.phase import counts_in_phase
from netpart.spec import RECORD, Placement, Region, Shard, whole_region

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import CutProto, LayerProto, NetProto


@dataclass(frozen=True)
class CutFallback:
    """A cut that ``node`` could not take, and what was done instead (``netpart check`` shows it).

    ``axis`` is the net's partition_dim, or the name of the scheme, that asked for the cut.
    """

    node: str
    axis: int | str
    taken: str


class LayerPlacer:
    """Placer of one layer in the net of ``phase``."""

    def __init__(self, node: Node, conf: NetProto, workers: int, full_rows: int, phase: str) -> None:
        self.node = node
        self.layer = node.layer
        self.net_conf = conf
        self.workers = workers
        self.phase = phase
        self.conf: LayerProto = node.conf
        self.location = list(self.conf.location)
        self.cuts = LayerCuts(node, conf, workers, full_rows, phase)

    def place(self, fallbacks: list[CutFallback]) -> Placement:
        placement = self.parts(fallbacks)
        return replace(placement, sum_gradient=True) if self.conf.sum_gradient else placement

    def parts(self, fallbacks: list[CutFallback]) -> Placement:
        self.check_location(self.location, ("location",))
        if self.layer.output.dtype == RECORD:
            return self.whole()
        if self.conf.shard:
            return self.shards()
        if written := [(i, cut) for i, cut in enumerate(self.conf.cut) if counts_in_phase(cut, self.phase)]:
            location = self.long_location([cut for _, cut in written])
            return self.grid([self.cuts.requested_cut(cut, i) for i, cut in written], location)
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
        parts = self.cuts.parts
        return self.grid([GridCut(axis, self.cuts.along(axis, parts, at))], self.location)

    def inherited(self, axis: int, fallbacks: list[CutFallback]) -> Placement:
        """Apply the net's ``partition_dim``, or fall back.

        An input falls back to whole; losses and outputs to the batch; other layers to the batch, or to whole if it is
        too short.
        """
        parts = self.cuts.parts
        if axis == -1 or parts == 1:
            return self.whole()
        for candidate in [axis] if self.layer.is_input else [0] if self.layer.metrics else [axis, 0]:
            if candidate in self.layer.cuts() and self.cuts.extent(candidate) >= parts:
                if candidate != axis:
                    fallbacks.append(CutFallback(self.node.name, axis, "batch"))
                return self.grid([GridCut(candidate, self.cuts.along(candidate, parts, ()))], self.location)
        fallbacks.append(CutFallback(self.node.name, axis, "whole"))
        return self.whole()

    def long_location(self, cuts: list[CutProto]) -> list[int]:
        """Workers of the grid's cells in row-major order: those of the layer, or of the one cut that lists some."""
        listed = [list(c.location) for c in cuts if c.location]
        if len(listed) + bool(self.location) > 1:
            hint = "write them once, in row-major order of the grid"
            raise ConfigError(self.node.name, "one list of locations", "several", hint, at=("cut",))
        location = listed[0] if listed else self.location
        self.check_location(location, ("cut",))
        return location

    def grid(self, cuts: list[GridCut], location: list[int]) -> Placement:
        """Shards of every cell of the grid, in row-major order; empty cells are dropped."""
        self.check_once(cuts)
        count = prod(len(cut.ranges) for cut in cuts)
        if len(location) != count if location else count > self.workers:
            got = f"{len(location)} locations" if location else f"{self.workers} workers"
            hint = f"list {count} locations" if location else f"run with --workers {count} or list locations"
            raise ConfigError(self.node.name, f"a worker for each of {count} parts", got, hint, at=("cut",))
        cells = product(*(range(len(cut.ranges)) for cut in cuts))
        workers = location or list(range(count))
        shards = [self.shard(cuts, cell, w) for cell, w in zip(cells, workers, strict=True)]
        # A micro-batch can have fewer rows than the layer has parts.
        filled = tuple(s for s in shards if all(lo < hi for lo, hi in s.region))
        if len(set(filled)) < len(filled):
            hint = "give each copy a worker of its own"
            raise ConfigError(self.node.name, "copies on different workers", f"locations {workers}", hint, at=("cut",))
        return Placement(filled)

    def check_once(self, cuts: list[GridCut]) -> None:
        """Raise ConfigError if two cuts are in the same direction: a grid has one cut in each."""
        for i, cut in enumerate(cuts):
            if any(cut.over == other.over for other in cuts[:i]):
                what = f"axis {cut.over}" if isinstance(cut.over, int) else cut.over
                hint = "join them into one cut with more parts"
                raise ConfigError(self.node.name, f"one cut of {what}", "a second one", hint, at=("cut", i))

    def shard(self, cuts: list[GridCut], cell: tuple[int, ...], worker: int) -> Shard:
        region: list[tuple[int, int]] = list(self.layer.output.whole)
        term: Region | None = None
        for cut, i in zip(cuts, cell, strict=True):
            if cut.over == INPUT:
                space = self.layer.contraction() or ()
                term = (cut.ranges[i], *whole_region(space[1:]))
            elif isinstance(cut.over, int):
                region[cut.over] = cut.ranges[i]
        return Shard(worker, tuple(region), term)

    def check_location(self, location: list[int], at: FieldPath) -> None:
        for i, worker in enumerate(location):
            if worker >= self.workers:
                hint = f"run with --workers {worker + 1}"
                expected = f"a location below the {self.workers} workers"
                raise ConfigError(
                    self.node.name, expected, str(worker), hint, at=(*at, i) if at == ("location",) else at
                )
