"""Explanation of one layer of a training net: the helpers around it, its sums, and the bytes that it sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from netpart.errors import ConfigError
from netpart.graph.build import type_name
from netpart.graph.graph import Part
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.plan.price.cost import traffic_by_layer
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.worker_shares import region_text, shards_text
from netpart.plan.text.cut_text import place_text
from netpart.plan.text.diff import message_kind
from netpart.plan.text.helper_neighbours import HelperNeighbours, inserted_inner_layers, inserted_totals
from netpart.plan.text.helper_reasons import HelperReason, ReasonFinder
from netpart.proto.fields import nearest_hint
from netpart.spec import whole_region


@dataclass(frozen=True)
class ShardExplanation:
    """One shard of the layer: the region that it computes, and the regions of sources and parameters that it needs."""

    name: str
    worker: int
    computes: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class LayerExplanation:
    """One layer of the training net: its shards, the helpers ``before`` and ``after`` it, and its sums.

    ``moves`` are the bytes of a step that carry its output and gradients, by kind.
    """

    layer: str
    type: str
    cut: str
    pieces: tuple[ShardExplanation, ...]
    before: tuple[HelperReason, ...]
    after: tuple[HelperReason, ...]
    sums: tuple[str, ...]
    moves: dict[str, int]


def explain_layer(partition: Partition, name: str) -> LayerExplanation:
    """Explain layer ``name``; helpers are those of the first micro-batch, bytes those of all.

    Raises ConfigError, with the nearest names, for a layer that the training net does not have.
    """
    return LayerExplainer(partition).explain(name)


class LayerExplainer:
    """Explains the layers of ``partition``. ``around`` and ``reasons`` are those of its helpers."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.around = HelperNeighbours(partition.graph)
        self.reasons = ReasonFinder(partition, self.around)
        self._moves = _layer_bytes_by_kind(partition)

    def explain(self, name: str) -> LayerExplanation:
        """Explain layer ``name``, as ``explain_layer`` does."""
        node = _find_layer(self.partition, name)
        around = self.around
        return LayerExplanation(
            name, type_name(node.conf).removeprefix("k"),
            place_text(node.layer, self.partition.graph.placements[node.index]),
            tuple(_explain_shard(around, part) for part in around.shards(node)),
            tuple(self.reasons.of(around.before(node))), tuple(self.reasons.of(around.after(node))),
            tuple(_describe_sums(self.partition, node)), self._moved_by_kind(node),
        )  # fmt: skip

    def _moved_by_kind(self, node: Node) -> dict[str, int]:
        """Bytes of a step that carry a layer's output, its gradient and those of its parameters, by kind."""
        graph = self.partition.graph
        # The inner layer and the totals that the rewrite inserted for this layer count as its own traffic.
        own = [node, *inserted_inner_layers(graph, node)]
        names = [n.name for each in own for n in (each, *inserted_totals(graph, each))]
        counts = {kind: sum(found[name] for name in names) for kind, found in self._moves.items()}
        return {kind: nbytes for kind, nbytes in counts.items() if nbytes}


def _find_layer(partition: Partition, name: str) -> Node:
    """The layer called ``name``; raises ConfigError for an unknown name."""
    known = {node.name: node for node in partition.graph.net.nodes if not node.inserted}
    if name not in known:
        raise ConfigError("explain", "a layer of the training net", repr(name), nearest_hint(name, known))
    return known[name]


def _explain_shard(around: HelperNeighbours, part: Part) -> ShardExplanation:
    """The regions that a shard computes and needs."""
    node = around.graph.net.nodes[part.node]
    placement = around.graph.placements[part.node]
    supplies = [f"(from {f.part.name})" if around.helps(f.part) else "(held here)" for f in part.feeds]
    needs = [f"{around.held(feed)} {supply}" for feed, supply in zip(part.feeds, supplies, strict=True)]
    boxes = zip(node.layer.params, node.layer.needs(part.region, part.term).params, strict=True)
    needs += [f"{p.proto.name or p.key} {region_text(box, whole_region(p.shape))}" for p, box in boxes if box]
    computes = shards_text([placement.shards[part.shard]], node.layer.output.whole)
    return ShardExplanation(part.name, part.worker, computes, tuple(needs))


def _layer_bytes_by_kind(partition: Partition) -> dict[str, Counter[str]]:
    """Bytes of a step by layer, for each kind of message."""
    entries = compute_ledger(partition).flows
    return {
        kind: traffic_by_layer(partition, [entry for entry in entries if message_kind(entry) == kind])
        for kind in dict.fromkeys(map(message_kind, entries))
    }


def _describe_sums(partition: Partition, node: Node) -> Iterator[str]:
    """The gradients that are summed over workers: of the layer's copies, and of its parameters."""
    graph = partition.graph
    if graph.reduced[node.index]:
        yield "its copies receive gradients from their own readers, then all-reduce the output gradient (sum_gradient)"
    for parameter in dict.fromkeys(p for each in (node, *inserted_inner_layers(graph, node)) for p in each.params):
        cells = [
            f"{region_text(cell.box, whole_region(parameter.spec.shape))} over workers"
            f" {', '.join(map(str, bucket.workers))}"
            + (", each of which updates a share of it" if bucket.sharded else "")
            for bucket in partition.buckets
            for cell in bucket.cells
            if cell.parameter.name == parameter.name
        ]
        if cells:
            yield f"{parameter.name}: each holder sees its own part of the batch or output; summed {'; '.join(cells)}"
        elif parameter.name in partition.trained:
            yield f"{parameter.name}: every holder computes the whole gradient of what it holds; nothing to sum"
