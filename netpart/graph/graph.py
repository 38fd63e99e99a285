"""Graph: the partitioned net as parts on workers. The rewrite creates it; all later stages only read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from netpart.graph.net import Net
from netpart.graph.notebook_display import NotebookDisplay
from netpart.spec import Placement, Region, size

if TYPE_CHECKING:
    import networkx as nx

    from netpart.graph.holdings import Bucket

LAYER, SLICE, SPLIT, CONCATE, SUM = "layer", "slice", "split", "concate", "sum"
BRIDGE_SRC, BRIDGE_DST = "bridge_src", "bridge_dst"
GIVE, TAKE = "give", "take"
"""A worker's two ends of a collective, in place of its bridges: in Programs and in compact graphs."""
CROSSING = (BRIDGE_SRC, BRIDGE_DST, GIVE, TAKE)
"""The kinds of parts through which tensors cross workers."""


class PartInput:
    """One input of a part: ``region`` of output ``output`` of ``part``, for input ``k`` of the layer.

    ``gradient``: backward returns the gradient of that region along the same edge.
    """

    __slots__ = ("gradient", "k", "output", "part", "region")

    def __init__(self, part: Part, region: Region, k: int = 0, output: int = 0, gradient: bool = False) -> None:
        self.part = part
        self.region = region
        self.k = k
        self.output = output
        self.gradient = gradient

    def __repr__(self) -> str:
        return f"Feed({self.part.name}{list(self.region)} -> input {self.k})"


class Part:
    """One box of the drawing: a shard of a layer, or a helper, on one worker.

    ``node`` and ``output`` name the tensor of the uncut net that the part holds; ``region`` is the box of it, in global
    coordinates. ``shard`` and ``term`` are those of the layer's placement (layers only). ``live``: a gradient of
    ``region`` is computed here. ``owned`` (losses only): the boxes with loss that this part differentiates;
    ``reports``: it reports the metrics. Both count each element once where shards overlap (docs/regions.md, D10).
    ``trains`` has, per parameter, whether this part adds to its gradient. ``peer`` is the other half of a bridge.
    ``members`` are the replicas (including this part) that all-reduce the gradient of this part; () if none is needed.
    ``collective`` is the collective that a helper is a piece of."""

    __slots__ = (
        "collective", "feeds", "index", "kind", "live", "members", "name", "node", "output", "owned", "peer", "region",
        "reports", "shard", "term", "trains", "worker",
    )  # fmt: skip

    def __init__(
        self, kind: str, name: str, worker: int, node: int, region: Region, output: int = 0, shard: int = -1
    ) -> None:
        self.kind = kind
        self.name = name
        self.worker = worker
        self.node = node
        self.region = region
        self.output = output
        self.shard = shard
        self.index = -1
        self.feeds: list[PartInput] = []
        self.live = False
        self.term: Region | None = None
        self.owned: tuple[Region, ...] | None = None
        self.reports = True
        self.trains: tuple[bool, ...] = ()
        self.peer: Part | None = None
        self.members: tuple[Part, ...] = ()
        self.collective: Collective | None = None

    @property
    def arrivals(self) -> int:
        """The messages that the part stands for, if it is the receiving half of bridges: of a Take, one from each other
        member."""
        return len(self.collective.members) - 1 if self.kind == TAKE and self.collective else 1

    def __repr__(self) -> str:
        return f"Part({self.name} {self.kind} on {self.worker} {list(self.region)})"


@dataclass(frozen=True)
class Bridge:
    """A tensor that crosses workers: ``source`` sends ``region`` forward; its gradient returns if ``backward``."""

    source: Part
    target: Part
    elements: int
    dtype: str
    backward: bool


@dataclass(frozen=True, eq=False)
class Collective:
    """Bridges of one tensor that together form a collective ``kind``: executed, counted and drawn as one.

    ``members`` are workers in the order of their places. ``blocks[i]`` is the block that place i contributes to an
    all-gather or receives from a reduce-scatter; ``blocks[i * n + j]`` is the block from i to j of an all-to-all (None:
    nothing is sent). For other kinds ``blocks`` is empty and the algorithm cuts ``region`` itself. ``backward``: the
    gradient returns the same way. ``first`` is the index of the part at which the collective can start, ``last`` that
    of the last part that waits for it; ``first`` also identifies it among the collectives of its graph. ``elements``
    counts what all members send together.
    """

    kind: str
    name: str
    dtype: str
    members: tuple[int, ...]
    blocks: tuple[Region | None, ...]
    region: Region
    backward: bool
    first: int
    last: int
    elements: int = 0

    def __repr__(self) -> str:
        return f"Collective({self.kind} of {self.name} among {list(self.members)})"


@dataclass(frozen=True)
class WorkerTeams:
    """The team of each worker and of each node of the net. A team is named by the lowest of the workers that share a
    layer."""

    of_worker: tuple[int, ...] = ()
    of_node: tuple[int, ...] = ()

    @property
    def members(self) -> list[list[int]]:
        """The workers of each team, teams in ascending order of their lowest worker."""
        found: dict[int, list[int]] = {}
        for worker, team in enumerate(self.of_worker):
            found.setdefault(team, []).append(worker)
        return [found[team] for team in sorted(found)]


@dataclass
class Graph(NotebookDisplay):
    """All parts of a partitioned net in one global topological order that every worker's Program keeps.

    The index of a part is its place in this order. In a *compact* graph a part may stand for several, so there are
    fewer parts than places; ``part_at`` finds a part by its index in any graph.

    ``placements`` has one entry per node of ``net``. Per node: ``full`` is True if each replica holds the whole
    gradient of its region, ``reduced`` if it needs an all-reduce for that (docs/regions.md, D9),
    and ``agree`` if all replicas compute the same bits as well. ``buckets`` are the parameter gradients that are summed
    in a step, which may have several ``micro_batches``. ``collectives`` are those that the bridges form. ``teams``
    lists the workers that pass through the net together.
    """

    net: Net
    workers: int
    placements: list[Placement]
    parts: list[Part] = field(default_factory=list)
    full: list[bool] = field(default_factory=list)
    reduced: list[bool] = field(default_factory=list)
    buckets: list[Bucket] = field(default_factory=list)
    micro_batches: int = 1
    agree: list[bool] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    teams: WorkerTeams = field(default_factory=WorkerTeams)

    def part_at(self, index: int) -> Part:
        """The part at a place of the order."""
        return self._by_index[index]

    @cached_property
    def _by_index(self) -> dict[int, Part]:
        """The parts by index: collected when the graph is complete."""
        return {part.index: part for part in self.parts}

    def parts_of_worker(self, worker: int) -> list[Part]:
        """The parts of one worker, in order."""
        return list(self._by_worker.get(worker, ()))

    @cached_property
    def _by_worker(self) -> dict[int, list[Part]]:
        """The parts of each worker: found once for all workers, when the graph is complete."""
        found: dict[int, list[Part]] = {}
        for part in self.parts:
            found.setdefault(part.worker, []).append(part)
        return found

    @cached_property
    def crossing_nodes(self) -> frozenset[int]:
        """The nodes whose tensors, or gradients, cross workers: found once for all workers."""
        crossing = (part for part in self.parts if part.kind in CROSSING or part.members)
        return frozenset(part.node for part in crossing)

    def bridges(self) -> Iterator[Bridge]:
        """Every tensor that crosses workers, in order of its arrival."""
        for part in self.parts:
            if part.kind == BRIDGE_DST:
                element = self.net.element(part.node, part.output)
                yield Bridge(part.feeds[0].part, part, size(part.region), element, part.feeds[0].gradient)

    @cached_property
    def digraph(self) -> nx.DiGraph[str]:
        """The graph to draw: nodes carry ``kind``, ``layer``, ``shape``, ``worker``; edges carry ``region`` and
        ``elements``."""
        import networkx

        graph: nx.DiGraph[str] = networkx.DiGraph(name=self.net.name, workers=self.workers)
        for part in self.parts:
            layer = self.net.nodes[part.node].layer
            shape = self.shape(part)
            graph.add_node(part.name, kind=part.kind, layer=layer, shape=shape, worker=part.worker, part=part)
        for part in self.parts:
            for feed in part.feeds:
                elements = size(feed.region)
                graph.add_edge(feed.part.name, part.name, region=feed.region, elements=elements, gradient=feed.gradient)
        return graph

    def held_region(self, part: Part, output: int = 0) -> Region:
        """The region of output ``output`` that ``part`` holds; only parts of layers have several outputs."""
        return self.net.nodes[part.node].layer.outputs_of(part.region)[output] if part.kind == LAYER else part.region

    def shape(self, part: Part) -> tuple[int, ...]:
        """Shape of the box that ``part`` holds, as drawings show it."""
        return tuple(hi - lo for lo, hi in part.region)

    def __repr__(self) -> str:
        return f"Graph({self.net.name}, {len(self.parts)} parts on {self.workers} workers)"
