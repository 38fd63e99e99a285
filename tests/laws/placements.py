"""Random Placements, also such as no job can say: irregular boxes, overlaps, replicas anywhere, uneven terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition, partition_job
from netpart.layers.layer import INPUT
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Placement, Region, Shard, whole_region
from tests.laws.nets import nets

MOST_SPLITS = 4


@dataclass(frozen=True)
class Placed:
    """A job whose layers are placed by hand. ``calls`` counts nets, as every size of micro-batch has one."""

    job: JobProto
    workers: int
    placer: Callable[[Net], list[Placement]]
    drawn: list[list[Placement]]

    def partition(self) -> Partition:
        return partition_job(self.job, self.workers, placer=self.placer)

    def __repr__(self) -> str:
        placements = "\n".join(map(str, self.drawn))
        return f"Placed(workers={self.workers}, job='''\n{self.job}''', placements=\n{placements})"


@st.composite
def placed_jobs(draw: st.DrawFn) -> Placed:
    """A random net, and for every layer of it a placement of any kind."""
    s = draw(nets())
    workers = draw(st.sampled_from([2, 3, 4, 5, 3, 2, 1]))
    drawn: list[list[Placement]] = []

    habit = draw(st.sampled_from([0, 1, 2]))

    def placer(net: Net) -> list[Placement]:
        rows, found = draw(habits(net.rows, workers)), dict[str, Placement]()
        for node in net.nodes:
            if node.layer.conf.name not in found:  # the parts of a kSlice have one cut
                follows = node.layer.output.shape[0] == net.rows and followed_by(draw, habit)
                found[node.layer.conf.name] = draw(followed(node, rows) if follows else placements(node, workers))
        drawn.append([found[node.layer.conf.name] for node in net.nodes])
        return drawn[-1]

    return Placed(s.job, workers, placer, drawn)


def followed_by(draw: st.DrawFn, habit: int) -> bool:
    """Whether a layer follows the net's habit: never, half of the time, or nearly always."""
    return bool(habit) and draw(st.integers(0, 2 * habit)) > 1 - habit % 2


@st.composite
def habits(draw: st.DrawFn, rows: int, workers: int) -> list[tuple[int, Region]]:
    """(worker, rows): disjoint ranges of rows, each in one or more copies, which several layers may follow."""
    ids = st.lists(st.integers(0, workers - 1), min_size=1, max_size=3, unique=True)
    ranges = draw(boxes(((0, rows),), [0], 2))
    return [(worker, part) for part in ranges for worker in draw(ids)]


@st.composite
def followed(draw: st.DrawFn, node: Node, rows: list[tuple[int, Region]]) -> Placement:
    """The placement of a layer that follows the habit, so that replicas meet replicas."""
    rest = node.layer.output.whole[1:]
    return Placement(tuple(Shard(w, part + rest) for w, part in rows), draw(st.booleans()))


@st.composite
def placements(draw: st.DrawFn, node: Node, workers: int) -> Placement:
    """Boxes that cover the output, once per term, some doubled on other workers or grown over their neighbours."""
    layer, ids = node.layer, st.integers(0, workers - 1)
    axes = [a for a in layer.cuts() if isinstance(a, int)]
    space = layer.contraction() if INPUT in layer.cuts() and draw(st.integers(0, 2)) == 0 else None
    terms: list[Region | None] = [None]
    if space is not None:
        pieces = draw(boxes(whole_region(space), list(range(len(space))), 2))
        terms = list(pieces) if len(pieces) > 1 else [None]
    shards: list[Shard] = []
    alike = draw(st.booleans())
    tiles = draw(boxes(layer.output.whole, axes, MOST_SPLITS))
    for term in terms:
        for box in tiles if alike else draw(boxes(layer.output.whole, axes, MOST_SPLITS)):
            copies = draw(st.sampled_from([1, 1, 1, 2, 3]))
            for worker in draw(st.lists(ids, min_size=1, max_size=min(copies, workers), unique=True)):
                grown = draw(wider(box, layer.output.whole, axes)) if draw(st.integers(0, 4)) == 0 else box
                shards.append(Shard(worker, grown, term))
    order = draw(st.permutations(range(len(shards))))
    return Placement(tuple(dict.fromkeys(shards[i] for i in order)), draw(st.booleans()))


@st.composite
def boxes(draw: st.DrawFn, region: Region, axes: list[int], splits: int) -> list[Region]:
    """Tiles a region by cutting one of the pieces in two, again and again."""
    pieces = [region]
    for _ in range(draw(st.integers(0, splits))):
        i = draw(st.integers(0, len(pieces) - 1))
        able = [a for a in axes if pieces[i][a][1] - pieces[i][a][0] > 1]
        if able:
            axis = draw(st.sampled_from(able))
            lo, hi = pieces[i][axis]
            at = draw(st.integers(lo + 1, hi - 1))
            halves = [(*pieces[i][:axis], side, *pieces[i][axis + 1 :]) for side in ((lo, at), (at, hi))]
            pieces[i : i + 1] = halves
    return pieces


@st.composite
def wider(draw: st.DrawFn, box: Region, outer: Region, axes: list[int]) -> Region:
    """A box that contains ``box``."""
    grow = st.integers(0, 2)
    return tuple(
        (max(lo - draw(grow), low), min(hi + draw(grow), high)) if a in axes else (lo, hi)
        for a, ((lo, hi), (low, high)) in enumerate(zip(box, outer, strict=True))
    )
