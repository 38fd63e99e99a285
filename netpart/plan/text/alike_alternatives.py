"""Alternatives of many layers at once: those of one layer hold for all whose neighbours are like its own.

Another cut of a layer changes what the layer, its sources and its readers send each other, and the sums of its
gradients. So layers with equal confs, placements and neighbours differ only in their names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from pathlib import Path

from netpart.graph.graph import Graph
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.plan.price.cost import traffic_by_layer
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.alternatives import CutAlternative, find_alternatives
from netpart.progress import track_items
from netpart.proto.nameless_conf import nameless_conf

KINDS = 12
"""Up to so many unlike layers are cut in other ways: each cut takes as long as cutting the net."""


def alternatives_by_layer(partition: Partition, folder: Path | None = None) -> dict[str, tuple[CutAlternative, ...]]:
    """The alternatives of the layers that move most bytes, by name, as ``find_alternatives`` has them.

    Layers that are alike count once. At most KINDS have alternatives, and none where nothing is sent; the others have
    no entry.
    """
    alike: dict[Hashable, list[Node]] = defaultdict(list)
    around = _LayerSurroundings(partition.graph)
    for node in partition.graph.net.nodes:
        if not node.inserted:
            alike[around.of(node)].append(node)
    moved = traffic_by_layer(partition, compute_ledger(partition).flows)
    near = {nodes[0].name: sum(moved[name] for name in around.near(nodes[0])) for nodes in alike.values()}
    groups = [nodes for nodes in alike.values() if near[nodes[0].name]]
    groups.sort(key=lambda nodes: (-moved[nodes[0].name], -near[nodes[0].name]))
    found = {}
    for nodes in track_items(groups[:KINDS], "alternatives of layer", min(KINDS, len(groups))):
        cuts = find_alternatives(partition, nodes[0].name, folder)
        found.update({node.name: tuple(_rename(cut, nodes[0], node) for cut in cuts) for node in nodes})
    return found


def _rename(cut: CutAlternative, model: Node, node: Node) -> CutAlternative:
    """``cut`` of the layer ``model`` as one of ``node``."""
    own = tuple(f"{node.name}{text.removeprefix(model.name)}" for text in cut.settings)
    return replace(cut, settings=own)


class _LayerSurroundings:
    """What a layer and those around it look like, without their names."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.readers: dict[int, list[int]] = defaultdict(list)
        for node in graph.net.nodes:
            for source in node.sources:
                self.readers[source.node].append(node.index)
        self.looks = [self._look(node) for node in graph.net.nodes]

    def of(self, node: Node) -> Hashable:
        """Equal for layers that are alike, with sources, their readers, and readers that are alike."""
        sources = tuple((source.output, *self._looks_around(source.node)) for source in node.sources)
        return self._looks_around(node.index), sources

    def near(self, node: Node) -> Iterator[str]:
        """The names of a layer and of its sources."""
        yield node.name
        yield from (self.graph.net.nodes[source.node].name for source in node.sources)

    def _looks_around(self, index: int) -> tuple[Hashable, ...]:
        """What a layer looks like, and those that read it, with what else they read."""
        nodes = self.graph.net.nodes
        others = ((self.looks[r], *(self.looks[s.node] for s in nodes[r].sources)) for r in self.readers[index])
        return self.looks[index], tuple(others)

    def _look(self, node: Node) -> Hashable:
        # Parameters of another layer are named: two layers that share them are not alike.
        owners = tuple(p.name if p.owner != node.index else "" for p in node.params)
        shapes = tuple(spec.shape for spec in node.layer.outputs)
        return (
            nameless_conf(node.conf), shapes, self.graph.placements[node.index], owners,
            self.graph.net.trained[node.index],
        )  # fmt: skip
