"""Prediction of the time of a training step of a partition, by one function, ``predict_step``.

The model runs one micro-batch layer by layer. A worker computes its part of a layer when it is free and the inputs of
the part have arrived. Work takes as long as the device's speed implies, messages as long as in the LogGP model
(``collectives/price.py``). The others of M micro-batches follow at the pace of the slowest worker or port, with what it
waits for others of its stage:

    T = forward + backward of one micro-batch + (M - 1) · the slowest pace + the rest of the all-reduces

With delayed gradients, as many mini-batches are in flight as the longest chain has stages, K. By Little's law one
mini-batch takes a K-th of T, unless the slowest pace and the all-reduces take longer. Backward of a recomputed layer
includes its forward once more. The gradient of a layer's input is sent before the gradients of its parameters are
computed, where possible, as in ``program/passes/postpone_weight_gradients.py``. All-reduces of gradients overlap with
backward: the rest is in ``gradient_sums.py``. Kernels are assumed to reach the same speed for every shape, and updates
to take the time in which a device streams their arrays. ``tests/laws/test_predictions.py`` compares the model with a
simulation of the Programs at the same prices: the bytes are equal, and the seconds agree within a factor of 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import add
from typing import NamedTuple

from netpart.choices import DELAYED
from netpart.graph.graph import LAYER, Graph
from netpart.graph.partition import Partition
from netpart.graph.recomputed import recomputed_nodes
from netpart.plan.price.devices import Devices
from netpart.plan.price.gradient_sums import SUM_WAYS, unhidden_seconds
from netpart.plan.price.ledger import LedgerFlow, compute_ledger
from netpart.plan.price.part_prices import CountedPrices, PartPrices
from netpart.plan.price.transfers import (
    connected_by_flows,
    flow_arrivals,
    flow_handling,
    flow_ports,
)
from netpart.plan.price.worker_memory import model_workers
from netpart.program.instructions import Way
from netpart.program.schedules.schedule import schedule_order
from netpart.program.schedules.stages import StageGraph
from netpart.proto.element import float_size
from netpart.spec import size
from netpart.updaters import build_updater

Key = tuple[int, int]
"""(node, worker)."""
Work = defaultdict[Key, float]
"""Seconds of each key."""


@dataclass(frozen=True)
class StepPrediction:
    """A training step: its seconds, the bytes sent between workers, and the seconds that each worker computes."""

    seconds: float
    moved: int
    busy: tuple[float, ...]


def predict_step(
    partition: Partition, devices: Devices, rates: Mapping[str, float] | None = None, prices: PartPrices | None = None
) -> StepPrediction:
    """Predict a training step of ``partition`` with worker w on device w.

    ``prices`` are those of the parts; by default counted FLOPs, of which ``rates`` has by layer the work of each if
    that is not 1 (``layer_loads.work_rates``).
    """
    prices = prices or CountedPrices(rates)
    micros = partition.phases["train"]
    flows = compute_ledger(partition).flows
    # One micro-batch is timed; the others enter through the pace of the busiest worker.
    first = [e for e in flows if e.channel.way not in SUM_WAYS and e.channel.micro == 0]
    again = recomputed_nodes(micros[0].graph.net, partition.job.neuralnet)
    *work, later = _computing_seconds(micros[0].graph, devices, prices, again)
    ways = [Way.FORWARD], [Way.BACKWARD, Way.REDUCE]
    moves = [_transfers_by_layer(micros[0].graph, [e for e in first if e.channel.way in way], devices) for way in ways]
    forward = max(pass_ends(micros[0].graph, work[0], Work(float), moves[0]).values(), default=0.0)
    ends = pass_ends(micros[0].graph, work[1], later, moves[1], reverse=True)
    backward = max(ends.values(), default=0.0)
    computing = _worker_seconds(work, len(devices))
    # The ports of hosts have a pace too: a port passes one message after another.
    paces = [flow_ports(first, devices), *map(add, computing, flow_handling(first, devices))]
    delayed = schedule_order(partition.job) == DELAYED
    if delayed or len(micros) > 1:
        pairs = zip((work[0], work[1]), (Work(float), later), moves, (False, True), strict=True)
        paces += map(sum, zip(*(_pass_paces(micros[0].graph, *pair) for pair in pairs), strict=True))
    sums = [e for e in flows if e.channel.way in SUM_WAYS]
    left = unhidden_seconds(partition, sums, ends, devices) + max(_ending_seconds(partition, sums, devices, prices))
    taken = forward + backward + (len(micros) - 1) * max(paces) + left
    if delayed:
        stages = 1 + StageGraph(micros[0].graph, delayed=True).depth
        taken = max(len(micros) * max(paces) + left, taken / stages)
    return StepPrediction(taken, sum(e.nbytes for e in flows), tuple(s * len(micros) for s in computing))


def _worker_seconds(work: Iterable[Work], workers: int) -> list[float]:
    """Seconds that each worker computes."""
    found = [0.0] * workers
    for part in work:
        for (_, worker), seconds in part.items():
            found[worker] += seconds
    return found


def _computing_seconds(
    graph: Graph, devices: Devices, prices: PartPrices, again: Collection[int]
) -> tuple[Work, Work, Work]:
    """Seconds by layer and worker: of forward, of backward, and of the part of backward after the gradient of the input
    has been sent. Backward of the nodes in ``again`` starts with another forward pass."""
    forward = Work(float)
    backward = Work(float)
    later = Work(float)
    for part in graph.parts:
        if part.kind == LAYER:
            work = prices.part_work(graph, part)
            key = (part.node, part.worker)
            speed = devices.devices[part.worker].speed
            forward[key] += work.forward / speed
            backward[key] += (work.backward + work.forward * (part.live and part.node in again)) / speed
            later[key] += work.later / speed
    return forward, backward, later


class LayerTransfer(NamedTuple):
    """The transfer of a layer's output, or its gradient. By worker: the seconds until the last message to it has
    arrived, the seconds that messages keep it busy, and the workers that it exchanges any with. ``ready`` keeps, by
    layer and such workers, when the last of these is done."""

    arrivals: list[float]
    handled: Sequence[float]
    peers: Mapping[int, set[int]]
    ready: dict[tuple[int, int], float]


def _transfers_by_layer(graph: Graph, flows: Sequence[LedgerFlow], devices: Devices) -> dict[int, LayerTransfer]:
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


def _pass_paces(
    graph: Graph, work: Work, later: Work, moves: Mapping[int, LayerTransfer], reverse: bool
) -> list[float]:
    """By worker, the seconds from the end of one micro-batch to that of the next in one direction, with the waits for
    what other workers of its layers make."""
    free = [0.0] * graph.workers
    pass_ends(graph, work, later, moves, reverse, free)
    before = list(free)
    pass_ends(graph, work, later, {n: move._replace(ready={}) for n, move in moves.items()}, reverse, free)
    return [after - first for after, first in zip(free, before, strict=True)]


def pass_ends(
    graph: Graph, work: Work, later: Work, moves: Mapping[int, LayerTransfer], reverse: bool = False,
    free: list[float] | None = None,
) -> dict[int, float]:  # fmt: skip
    """By node, when one micro-batch is done with it in one direction through the net; ``reverse``: backward, from
    readers to sources. A result may be sent before the part of the seconds in ``work`` that is ``later``. ``free`` has
    by worker when it can begin, and in the end when it is done; by default all begin at 0."""
    free = [0.0] * graph.workers if free is None else free
    done = dict[Key, float]()
    ends = dict[int, float]()
    reads: dict[int, set[int]] = {node.index: {s.node for s in node.sources} for node in graph.net.nodes}
    if reverse:
        reads = {n: {r for r, sources in reads.items() if n in sources} for n in reads}
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


def _ending_seconds(
    partition: Partition, sums: Iterable[LedgerFlow], devices: Devices, prices: PartPrices
) -> list[float]:
    """Seconds in which each worker updates parameters, and copies and adds the gradients of others."""
    width = float_size(partition.job)
    moved = [0] * len(devices)
    for flow in sums:
        for bytes_of in (flow.sent, flow.received):
            for worker, nbytes in bytes_of.items():
                # Adding a block reads two arrays and writes one.
                moved[worker] += 3 * nbytes
    found = [nbytes / device.streaming for nbytes, device in zip(moved, devices.devices, strict=True)]
    for worker, device in enumerate(devices.devices[: partition.workers]):
        work = prices.update_work(partition, worker)
        streamed = _updated_bytes(partition, worker, width) / device.streaming
        found[worker] += (streamed if work is None else work / device.speed) + prices.step_work() / device.speed
    return found


def _updated_bytes(partition: Partition, worker: int, width: int) -> int:
    """Bytes that a worker reads and writes in its updates: value, gradient and states, and all but the gradient."""
    slots = len(build_updater(partition.job.updater).states)
    updated = sum(size(h.home) for h in partition.holdings[worker] if h.parameter.name in partition.trained)
    return updated * width * (3 + 2 * slots)


def predict_memory(partition: Partition, room: float = inf) -> tuple[int, ...]:
    """Bytes of each worker: the memory that its compiled program allocates, with the workspace of its kernels, and its
    messages in flight. A worker that needs more than ``room`` is the last that is compiled."""
    slots = len(build_updater(partition.job.updater).states)
    found: list[int] = []
    for model in model_workers(partition, slots):
        found.append(model.memory)
        if model.memory > room:
            break
    return tuple(found)
