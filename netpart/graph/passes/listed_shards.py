"""Placement that a job lists shard by shard: any boxes on any workers, checked before the rewrite relies on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, FieldPath
from netpart.graph.net import Node
from netpart.graph.passes.cover import covers_tensor
from netpart.layers.layer import INPUT
from netpart.proto.phase import counts_in_phase
from netpart.spec import Placement, Region, Shard, intersect, size, whole_region

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import ShardProto


@dataclass
class ListedShards:
    """The ``shard`` blocks of one layer, as they apply to the net of ``phase`` on ``workers`` workers."""

    node: Node
    phase: str
    workers: int

    def place(self) -> Placement:
        """The shards for this phase and micro-batch size, in order.

        Raises ConfigError for a box outside the layer, two equal shards on one worker, and shards that do not make up
        the whole output.
        """
        layer = self.node.layer
        mine = [(i, block) for i, block in enumerate(self.node.conf.shard) if self.applies(block)]
        shards = [self.shard(block, ("shard", i)) for i, block in mine]
        if not shards:
            got = f"none in phase {self.phase} for {layer.output.shape[0]} rows"
            raise self.wrong("shards", got, "omit their phase and rows", ("shard",))
        if len(set(shards)) < len(shards):
            raise self.wrong("copies on different workers", "two equal shards on one", "remove one", ("shard",))
        placement = Placement(tuple(shards))
        self.check_whole(placement)
        return placement

    def applies(self, block: ShardProto) -> bool:
        rows = not block.HasField("rows") or block.rows == self.node.layer.output.shape[0]
        return rows and counts_in_phase(block, self.phase)

    def shard(self, block: ShardProto, at: FieldPath) -> Shard:
        """One block as a shard; raises ConfigError for a worker or a box that does not exist."""
        if block.worker >= self.workers:
            hint = f"run with --workers {block.worker + 1}"
            raise self.wrong(f"a worker below {self.workers}", str(block.worker), hint, (*at, "worker"))
        layer = self.node.layer
        region = self.box(block.region, layer.output.whole, layer.cuts(), (*at, "region"))
        if not block.term:
            return Shard(block.worker, region)
        space = layer.contraction()
        if space is None or INPUT not in layer.cuts():
            hint = "only convolutions and inner products have addends"
            raise self.wrong("no term", str(list(block.term)), hint, (*at, "term"))
        return Shard(block.worker, region, self.box(block.term, whole_region(space), range(len(space)), (*at, "term")))

    def box(self, bounds: Sequence[int], outer: Region, axes: Iterable[int | str], at: FieldPath) -> Region:
        """The box that ``bounds`` lists; it must lie in ``outer``, be non-empty, and be whole on axes that are not in
        ``axes``."""
        # Not strict, as a job may list too few bounds; ``fits`` checks their number before it compares the ranges.
        box = tuple(zip(bounds[::2], bounds[1::2], strict=False))
        fits = len(bounds) == 2 * len(outer) and all(
            low <= lo < hi <= high if axis in axes else (lo, hi) == (low, high)
            for axis, ((lo, hi), (low, high)) in enumerate(zip(box, outer, strict=True))
        )
        if not fits:
            able = ", ".join(str(axis) for axis in axes if isinstance(axis, int)) or "none"
            hint = f"list from and to of each axis; it may be cut on axes {able}{self.limited}"
            raise self.wrong(f"a box in {region_bounds(outer)}", str(list(bounds)), hint, at)
        return box

    @property
    def limited(self) -> str:
        """Hint at ``phase``: a shard written for the training net also counts in the nets of other phases."""
        if self.phase == "train":
            return ""
        return f"; this is the {self.phase} net, and a shard with phase: kTrain counts in training alone"

    def check_whole(self, placement: Placement) -> None:
        """Raise ConfigError unless the shards of every term cover the output and the terms tile the contraction."""
        layer = self.node.layer
        if not covers_tensor(placement, layer.output.whole):
            hint = f"add a shard with the rest{self.limited}"
            raise self.wrong(f"shards that cover {region_bounds(layer.output.whole)}", "a gap", hint, ("shard",))
        terms = [term for term in placement.terms if term is not None]
        if not terms and len(placement.terms) == 1:
            return
        space = whole_region(layer.contraction() or ())
        disjoint = not any(intersect(a, b) for i, a in enumerate(terms) for b in terms[:i])
        if len(terms) < len(placement.terms) or not disjoint or sum(map(size, terms)) != size(space):
            hint = "give every shard a term; each number is summed once"
            raise self.wrong(f"terms that tile {region_bounds(space)}", "others", hint, ("shard",))

    def wrong(self, expected: str, got: str, hint: str, at: FieldPath) -> ConfigError:
        return ConfigError(self.node.name, expected, got, hint, at=at)


def region_bounds(region: Region) -> list[int]:
    """A box as a job writes it: from and to of each axis."""
    return [bound for span in region for bound in span]
