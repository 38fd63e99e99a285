"""Pass: marks the parts that compute a gradient: those on a path from a loss back to a parameter."""

from __future__ import annotations

from netpart.graph.graph import GIVE, LAYER, TAKE, Graph, Part
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
    taken: set[int] = set()
    # Readers come after their sources, so in reverse order ``part.live`` is final when its feeds are visited.
    for part in reversed(graph.parts):
        # A replica without a live reader still takes part in the all-reduce of its class, and then holds the gradient.
        part.live = part.live or any(p.live for p in part.members) or (part.kind == GIVE and part.node in taken)
        if part.kind == TAKE and part.live:
            taken.add(part.node)
        for feed in part.feeds:
            feed.gradient = feed.gradient and part.live
            feed.part.live = feed.part.live or feed.gradient


def returns_whole_sums(graph: Graph) -> bool:
    """True if the gradients of each complete sum return from all its members or from none."""
    live: dict[int, bool] = {}
    return all(live.setdefault(part.node, part.live) == part.live for part in graph.parts if part.kind == TAKE)
