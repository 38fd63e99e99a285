"""Pass play: when each worker is done with each layer of one micro-batch, in one direction through the net.

A worker computes its part of a layer when it is free and the inputs of the part have arrived. A transfer leaves when
all workers that take part in it are done. The gradient of a layer's input is sent before those of its parameters
are computed, where possible, as in ``program/passes/postpone_weight_gradients.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netpart.graph.graph import Graph
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerFlow
from netpart.plan.price.transfers import connected_by_flows, flow_arrivals, flow_handling

Key = tuple[int, int]
"""(node, worker)."""
Work = defaultdict[Key, float]
"""Seconds of each key."""


AT_ONCE = 1e-12
"""Seconds of a transfer that takes no time: with 0 there would be none."""


class LayerTransfer(NamedTuple):
    """The transfer of a layer's output, or its gradient. By worker: the seconds until the last message to it has
    arrived, the seconds that messages keep it busy, and the workers that it exchanges any with. ``ready`` keeps, by
    layer and such workers, when the last of these is done."""

    arrivals: list[float]
    handled: Sequence[float]
    peers: Mapping[int, set[int]]
    ready: dict[tuple[int, int], float]

    def anew(self, free: bool = False) -> LayerTransfer:
        """The transfer for another pass; ``free``: it takes no time, but is waited for."""
        if not free:
            return self._replace(ready={})
        arrivals = [min(each, AT_ONCE) for each in self.arrivals]
        return LayerTransfer(arrivals, [0.0] * len(self.handled), self.peers, {})


def transfers_by_layer(graph: Graph, flows: Sequence[LedgerFlow], devices: Devices) -> dict[int, LayerTransfer]:
    """The transfer of each layer that sends anything."""
    found: dict[int, list[LedgerFlow]] = defaultdict(list)
    for flow in flows:
        found[graph.part_at(flow.channel.edge).node].append(flow)
    return {node: _time_transfer(of_node, devices) for node, of_node in found.items()}


def _time_transfer(flows: Sequence[LedgerFlow], devices: Devices) -> LayerTransfer:
    """The transfer for ``flows``. No worker is busy for longer than it lasts: it receives messages while others
    leave."""
    arrivals = flow_arrivals(flows, devices)
    most = max(arrivals)
    handled = [min(most, busy) for busy in flow_handling(flows, devices)]
    return LayerTransfer(arrivals, handled, connected_by_flows(flows), {})


def pass_paces(graph: Graph, work: Work, later: Work, moves: Mapping[int, LayerTransfer], reverse: bool) -> list[float]:
    """By worker, the seconds from the end of one micro-batch to that of the next in one direction, with the waits for
    what other workers of its layers make. What other stages make is there: they are as far ahead as they may be."""
    free = [0.0] * graph.workers
    pass_ends(graph, work, later, moves, reverse, free)
    before = list(free)
    pass_ends(graph, work, later, {n: move.anew() for n, move in moves.items()}, reverse, free, ahead=True)
    return [after - first for after, first in zip(free, before, strict=True)]


def pass_ends(
    graph: Graph, work: Work, later: Work, moves: Mapping[int, LayerTransfer], reverse: bool = False,
    free: list[float] | None = None, ahead: bool = False,
) -> dict[int, float]:  # fmt: skip
    """By node, when one micro-batch is done with it in one direction through the net; ``reverse``: backward, from
    readers to sources. A result may be sent before the part of the seconds in ``work`` that is ``later``. ``free`` has
    by worker when it can begin, and in the end when it is done; by default all begin at 0. ``ahead``: what layers on
    none of a layer's workers make is there before."""
    free = [0.0] * graph.workers if free is None else free
    done = dict[Key, float]()
    ends = dict[int, float]()
    reads: dict[int, set[int]] = {node.index: {s.node for s in node.sources} for node in graph.net.nodes}
    if reverse:
        reads = _invert(reads)
    if ahead:
        reads = {n: {s for s in sources if _share_workers(graph, n, s)} for n, sources in reads.items()}
    # Nodes are in topological order, so their numbers, or these reversed, are an order of computation.
    for n in sorted(reads, reverse=reverse):
        for w in graph.placements[n].workers:
            ready = max(
                (_arrival_seconds(graph, done, moves, s if not reverse else n, s, w) for s in reads[n]), default=0.0
            )
            handled = moves[n].handled[w] if reverse and n in moves else 0.0  # overlaps what is computed later
            free[w] = max(ready, free[w] + handled) + work[n, w]
            done[n, w] = free[w] - later[n, w]
            ends[n] = max(ends.get(n, 0.0), free[w])
    return ends


def _share_workers(graph: Graph, one: int, other: int) -> bool:
    """True if some worker has parts of both nodes."""
    return not set(graph.placements[one].workers).isdisjoint(graph.placements[other].workers)


def _invert(reads: Mapping[int, set[int]]) -> dict[int, set[int]]:
    """The readers of each node."""
    found: dict[int, set[int]] = {n: set() for n in reads}
    for reader, sources in reads.items():
        for source in sources:
            found[source].add(reader)
    return found


def _arrival_seconds(
    graph: Graph, done: Mapping[Key, float], moves: Mapping[int, LayerTransfer], moved: int, source: int, worker: int
) -> float:
    """The time at which the result of ``source`` is on ``worker``: at once if local, or when the messages of the
    transfer ``moved`` have come, which leave when all workers that take part in it are done."""
    if moved in moves and (arrival := moves[moved].arrivals[worker]):
        return _last_done(graph, done, moves[moved], source, worker) + arrival
    return done.get((source, worker), 0.0)


def _last_done(graph: Graph, done: Mapping[Key, float], move: LayerTransfer, source: int, worker: int) -> float:
    """The time at which the last of the workers that ``move`` connects with ``worker`` has the result of ``source``."""
    peers = move.peers[worker]
    key = source, id(peers)  # connected workers have one set in common
    if key not in move.ready:
        move.ready[key] = max((done[source, w] for w in graph.placements[source].workers if w in peers), default=0.0)
    return move.ready[key]
