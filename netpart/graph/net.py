"""Net: the uncut layers of one phase in topological order, with shapes known and parameters resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from netpart.errors import FieldPath
from netpart.graph.notebook_display import NotebookDisplay
from netpart.layers.layer import Layer, ParamSpec
from netpart.spec import BFLOAT16, FLOAT, Spec

if TYPE_CHECKING:
    import networkx as nx

    from netpart.proto.job_pb2 import LayerProto


@dataclass(frozen=True)
class Source:
    """Input of a node: output number ``output`` of node number ``node``."""

    node: int
    output: int


@dataclass(frozen=True, eq=False)
class Parameter:
    """An uncut parameter; layers that share it (``share_from``) refer to the same object.

    ``name`` is ``layer/param``, the name in checkpoints; ``owner`` is the index of the node that initialises it.
    """

    name: str
    spec: ParamSpec
    owner: int


@dataclass(frozen=True)
class Node:
    """One uncut layer. ``at`` is its place in the JobProto.

    ``inserted`` nodes have no layer of their own in the job: layers that a pass adds, and all parts of a kSlice except
    the first. Those parts have the conf of the kSlice.
    """

    index: int
    layer: Layer
    sources: tuple[Source, ...]
    params: tuple[Parameter, ...]
    at: FieldPath
    inserted: bool = False

    @property
    def name(self) -> str:
        return self.layer.name

    @property
    def conf(self) -> LayerProto:
        return self.layer.conf


@dataclass
class Net(NotebookDisplay):
    """The layer DAG of one phase. ``rows`` is the mini-batch size by which its losses are normalised.

    ``expanded`` are the indices, in the net as it was built, of nodes that a pass replaced by two, or by three if the
    index is there twice (``passes/expand.py``). ``totals`` are the indices, in the net with these, of nodes after which
    a pass inserted a total (``passes/totals.py``). ``explained``: gradients are computed although nothing is trained.
    ``narrow``: activations are stored in bfloat16 (``element``).
    """

    name: str
    phase: str
    nodes: list[Node]
    rows: int = 0
    totals: tuple[int, ...] = ()
    expanded: tuple[int, ...] = ()
    explained: bool = False
    narrow: bool = False
    by_name: dict[str, Node] = field(init=False)

    def __post_init__(self) -> None:
        self.by_name = {node.name: node for node in self.nodes}

    @property
    def backward(self) -> bool:
        """True if a step of this net has a backward pass."""
        return self.explained or self.phase == "train"

    def spec(self, source: Source) -> Spec:
        """Spec of the tensor that ``source`` names."""
        return self.nodes[source.node].layer.outputs[source.output]

    def element(self, node: int, output: int = 0) -> str:
        """The kind of element as which output ``output`` of a node is stored and sent, and so is its gradient.

        In a ``narrow`` net BFLOAT16 for numbers that depend on a parameter, except losses, metrics and statistics.
        """
        dtype = self.nodes[node].layer.outputs[output].dtype
        return BFLOAT16 if dtype == FLOAT and self.narrow and self._rounded[node] else dtype

    @cached_property
    def _rounded(self) -> list[bool]:
        """Per node: True if its numbers depend on a parameter and may be rounded."""
        found: list[bool] = []
        for node in self.nodes:
            above = any(found[s.node] for s in node.sources if self.spec(s).dtype == FLOAT)
            found.append((above or bool(node.params)) and node.layer.may_be_rounded)
        return found

    def rows_of(self, layer: Layer, rows: int) -> int:
        """Rows of ``layer`` for a mini-batch of ``rows``: fewer after a slice of the batch, more after a join."""
        return rows * layer.rows // self.rows if layer.rows and self.rows else rows

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter once, in net order."""
        return tuple(dict.fromkeys(p for node in self.nodes for p in node.params))

    @cached_property
    def trained(self) -> list[bool]:
        """Per node: True if a gradient of its output is wanted: a parameter in it or above it, and a loss below it.

        This depends on the net alone, not on the cut. A node that no gradient reaches in the end still trains, with
        gradient 0.
        """
        if not self.backward:
            return [False] * len(self.nodes)
        above = [False] * len(self.nodes)
        below = [False] * len(self.nodes)
        for node in self.nodes:
            # Labels and records carry no gradient, so parameters above an integer input do not count.
            float_sources = [s.node for s in node.sources if self.spec(s).dtype == FLOAT]
            learns = any(not spec.read_only for spec in node.layer.params)
            trains = learns or any(above[s] for s in float_sources)
            above[node.index] = trains and node.layer.has_gradient
        for node in reversed(self.nodes):
            below[node.index] |= node.layer.is_loss
            for s in node.sources:
                below[s.node] |= below[node.index]
        return [a and b for a, b in zip(above, below, strict=True)]

    def carries_gradient(self, node: Node, k: int) -> bool:
        """True if ``node`` returns a gradient to its input ``k``."""
        source = node.sources[k]
        return self.trained[node.index] and self.trained[source.node] and self.spec(source).dtype == FLOAT

    @cached_property
    def digraph(self) -> nx.DiGraph[str]:
        """The layer DAG as a networkx graph: nodes carry ``layer``, edges carry ``spec``."""
        import networkx

        graph: nx.DiGraph[str] = networkx.DiGraph(name=self.name, phase=self.phase)
        graph.add_nodes_from((node.name, {"layer": node.layer}) for node in self.nodes)
        for node in self.nodes:
            for source in node.sources:
                graph.add_edge(self.nodes[source.node].name, node.name, spec=self.spec(source))
        return graph

    def __repr__(self) -> str:
        return f"Net({self.name}, {self.phase}, {len(self.nodes)} layers, batch {self.rows})"
