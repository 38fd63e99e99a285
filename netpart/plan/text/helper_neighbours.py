"""Helpers before and after a layer of a training net, and the layers that they serve."""

from __future__ import annotations

from collections import defaultdict

from netpart.graph.graph import BRIDGE_SRC, LAYER, Graph, Part, PartInput
from netpart.graph.net import Node
from netpart.graph.passes.totals import is_total
from netpart.plan.price.worker_shares import region_text


class HelperNeighbours:
    """The helpers around the layers of a training net; ``readers`` maps a part's index to the parts that it feeds."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.readers: dict[int, list[tuple[Part, PartInput]]] = defaultdict(list)
        for part in graph.parts:
            for feed in part.feeds:
                self.readers[feed.part.index].append((part, feed))

    def shards(self, node: Node) -> list[Part]:
        """The parts of the layer itself."""
        return [part for part in self.graph.parts if part.kind == LAYER and part.node == node.index]

    def before(self, node: Node) -> list[Part]:
        """The helpers through which a layer is fed, without the sending halves of bridges."""
        found: dict[int, Part] = {}
        waiting = [feed.part for part in self.shards(node) for feed in part.feeds]
        while waiting:
            part = waiting.pop()
            if self.helps(part) and part.index not in found:
                found[part.index] = part
                waiting += [feed.part for feed in part.feeds]
        return [found[index] for index in sorted(found) if found[index].kind != BRIDGE_SRC]

    def after(self, node: Node) -> list[Part]:
        """The helpers that carry a layer's output, and its total, without the sending halves of bridges."""
        nodes = {node.index, *(n.index for n in inserted_totals(self.graph, node))}
        return [p for p in self.graph.parts if p.node in nodes and self.helps(p) and p.kind != BRIDGE_SRC]

    def helps(self, part: Part) -> bool:
        """True for parts that the rewrite inserted: all except the layers of the job."""
        return part.kind != LAYER or self.graph.net.nodes[part.node].inserted

    def users(self, part: Part) -> list[str]:
        """The shards that a part feeds, directly or through helpers."""
        if not self.helps(part):
            return [part.name]
        return [name for reader, _ in self.readers[part.index] for name in self.users(reader)]

    def held(self, held: Part | PartInput) -> str:
        """The tensor (a layer's output, or its label) and the region that a part holds or a feed takes, in words."""
        part = held if isinstance(held, Part) else held.part
        layer = self.graph.net.nodes[part.node].layer
        return f"{layer.name}{f'.{layer.output_names[part.output]}' if part.output else ''} {self.box(held)}"

    def box(self, held: Part | PartInput) -> str:
        """The region that a part holds or a feed takes, in words."""
        part = held if isinstance(held, Part) else held.part
        # A helper holds one output of its layer, so its feeds read output 0 of it; the larger number is that of the
        # tensor.
        output = part.output if isinstance(held, Part) else max(part.output, held.output)
        return region_text(held.region, self.graph.net.nodes[part.node].layer.outputs[output].whole)


def inserted_totals(graph: Graph, node: Node) -> list[Node]:
    """The total that the rewrite inserted after a layer, if any."""
    after = graph.net.nodes[node.index + 1 : node.index + 2]
    return [found for found in after if is_total(found) and found.sources[0].node == node.index]


def inserted_inner_layers(graph: Graph, node: Node) -> list[Node]:
    """The inner layer that the rewrite inserted for a layer whose parts need results of each other, if any."""
    before = [graph.net.nodes[source.node] for source in node.sources[-1:]]
    # There may be a total between the inner layer and the layer itself.
    computed = [graph.net.nodes[n.sources[0].node] if is_total(n) else n for n in before]
    return [found for found in computed if found.inserted]
