"""Pass: marks the parts that compute a gradient: those on a path from a loss back to a parameter."""

from __future__ import annotations

from netpart.graph.graph import LAYER, Graph, Part
from netpart.spec import Region


def mark_live_parts(graph: Graph) -> None:
    """Mark the parts that compute a gradient; an edge to a reader without gradient returns none."""
    members: dict[tuple[int, Region, Region | None], list[Part]] = {}
    for part in graph.parts:
        node = graph.net.nodes[part.node]
        part.live = part.kind == LAYER and node.layer.is_loss and graph.net.trained[part.node]
        if part.kind == LAYER and graph.reduced[part.node]:
            members.setdefault((part.node, part.region, part.term), []).append(part)
    for replicas in members.values():
        for part in replicas:
            part.members = tuple(replicas) if len(replicas) > 1 else ()
    # Readers come after their sources, so in reverse order ``part.live`` is final when its feeds are visited.
    for part in reversed(graph.parts):
        # A replica without a live reader still takes part in the all-reduce of its class, and then holds the gradient.
        part.live = part.live or any(p.live for p in part.members)
        for feed in part.feeds:
            feed.gradient = feed.gradient and part.live
            feed.part.live = feed.part.live or feed.gradient
