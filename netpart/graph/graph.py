"""Graph: the partitioned net as parts on workers. The rewrite writes it; everything later reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from netpart.graph.net import Net
from netpart.graph.notebook import NotebookDisplay
from netpart.spec import Placement, Region, size

if TYPE_CHECKING:
    import networkx as nx

    from netpart.graph.holdings import Bucket

LAYER, SLICE, SPLIT, CONCATE, SUM = "layer", "slice", "split", "concate", "sum"
BRIDGE_SRC, BRIDGE_DST = "bridge_src", "bridge_dst"


class PartInput:
    """One input of a part: ``region`` of output ``output`` of ``part``, for input ``k`` of the layer.

    ``gradient``: backward returns the gradient of that region along the same way.
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

    ``node`` and ``output`` say which tensor of the uncut net it holds, ``region`` which elements of it,
    in global coordinates. ``shard`` and ``term`` are those of the layer's placement (layers only), ``live``
    says that a gradient of ``region`` is computed here. Of a loss, ``owned`` are the boxes whose loss this
    part differentiates, and ``reports`` that it reports them (regions.md, D10).
    ``trains`` says, per parameter, whether this part adds to its gradient. ``peer`` is the other half of a bridge.
    ``members`` are the replicas (itself too) that all-reduce the gradient of this part, if they must.
    ``collective`` is the one that a helper is a piece of.
    """

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

    def __repr__(self) -> str:
        return f"Part({self.name} {self.kind} on {self.worker} {list(self.region)})"


@dataclass(frozen=True)
class Bridge:
    """A tensor that crosses workers: ``source`` sends ``region`` forward, its gradient comes back if ``backward``."""

    source: Part
    target: Part
    elements: int
    dtype: str
    backward: bool


@dataclass(frozen=True, eq=False)
class Collective:
    """Bridges of one tensor that together are a collective ``kind``: moved as one, counted as one, drawn as one.

    ``members`` are workers in the order of their places; ``blocks[i]`` is what place i gives an all-gather or gets of
    a reduce-scatter, ``blocks[i * n + j]`` what goes from i to j in an all-to-all (None: nothing; the other kinds cut
    ``region`` as they like). ``backward``: its gradient returns the
    same way. ``first`` and ``last`` are the indices of the part at which it can start and of the last that waits for
    it; ``first`` names it among the collectives of its graph. ``elements`` are what all members send together.
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
    """The team of each worker and of each node of the net: the lowest of the workers that share a layer."""

    of_worker: tuple[int, ...] = ()
    of_node: tuple[int, ...] = ()

    @property
    def members(self) -> list[list[int]]:
        """The workers of each team, by its lowest."""
        found: dict[int, list[int]] = {}
        for worker, team in enumerate(self.of_worker):
            found.setdefault(team, []).append(worker)
        return [found[team] for team in sorted(found)]


@dataclass
class Graph(NotebookDisplay):
    """All parts of a partitioned net in one global topological order that every worker's Program keeps.

    ``placements`` has one entry per node of ``net``; ``full[node]`` says that each replica of the node
    holds the whole gradient of its region, ``reduced[node]`` that it takes an all-reduce to get it (regions.md, D9),
    ``agree[node]`` that besides all its replicas compute the same bits.
    ``buckets`` are the gradients of parameters that are summed in a step, which may have several ``micro_batches``.
    ``collectives`` are those that its bridges form, ``teams`` says who goes through the net together.
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

    def parts_of_worker(self, worker: int) -> list[Part]:
        """The parts of one worker, in order."""
        return [p for p in self.parts if p.worker == worker]

    def bridges(self) -> Iterator[Bridge]:
        """Every tensor that crosses workers, in order of its arrival."""
        for part in self.parts:
            if part.kind == BRIDGE_DST:
                spec = self.net.nodes[part.node].layer.outputs[part.output]
                source = part.feeds[0].part
                yield Bridge(source, part, size(part.region), spec.dtype, part.feeds[0].gradient)

    @cached_property
    def digraph(self) -> nx.DiGraph[str]:
        """The drawing: nodes carry ``kind``, ``layer``, ``shape``, ``worker``; edges ``spec`` and ``elements``."""
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
        """The region of output ``output`` that ``part`` holds: only a layer's part has several."""
        return self.net.nodes[part.node].layer.outputs_of(part.region)[output] if part.kind == LAYER else part.region

    def shape(self, part: Part) -> tuple[int, ...]:
        """Shape of what ``part`` holds, as the drawing shows it."""
        return tuple(hi - lo for lo, hi in part.region)

    def __repr__(self) -> str:
        return f"Graph({self.net.name}, {len(self.parts)} parts on {self.workers} workers)"
