"""Pass: which parts compute a gradient: those from a loss back to parameters, and nobody for nothing."""

from __future__ import annotations

from netpart.graph.graph import LAYER, Graph, Part
from netpart.spec import Region


def mark_live_parts(graph: Graph) -> None:
    """Marks the parts that compute a gradient; an edge behind a part that has none returns none."""
    members: dict[tuple[int, Region, Region | None], list[Part]] = {}
    for part in graph.parts:
        node = graph.net.nodes[part.node]
        part.live = part.kind == LAYER and node.layer.is_loss and graph.net.trained[part.node]
        if part.kind == LAYER and graph.reduced[part.node]:
            members.setdefault((part.node, part.region, part.term), []).append(part)
    for replicas in members.values():
        for part in replicas:
            part.members = tuple(replicas) if len(replicas) > 1 else ()
    for part in reversed(graph.parts):
        part.live = part.live or any(p.live for p in part.members)
        for feed in part.feeds:
            feed.gradient = feed.gradient and part.live
            feed.part.live = feed.part.live or feed.gradient
