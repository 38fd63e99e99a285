"""Prediction of the time of a training step of a partition, by one function, ``predict_step``.

The model runs one micro-batch layer by layer. A worker computes its part of a layer when it is free and the inputs of
the part have arrived. Work takes as long as the device's speed implies, messages as long as in the LogGP model
(``collectives/price.py``). The others of M micro-batches follow at the pace of the busiest worker:

    T = forward + backward of one micro-batch + (M - 1) · the busiest worker's share of it + the rest of the all-reduces

With delayed gradients, as many mini-batches are in flight as the longest chain has stages, K. By Little's law one
mini-batch takes a K-th of T, unless the busiest worker is busy for longer. With recomputation, backward takes an
additional forward pass. The gradient of a layer's input is sent before the gradients of its parameters are computed,
where possible, as in ``program/passes/postpone_weight_gradients.py``. All-reduces of gradients overlap with backward:
the rest is what it does not hide, at least the last bucket. Kernels are assumed to reach the same speed for every
shape, and updates to take the time in which a device streams their arrays. ``tests/laws/test_predictions.py`` compares
the model with a simulation of the Programs at the same prices: the bytes are equal, and the seconds agree within a
factor of 2 if messages are free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import NamedTuple

from netpart.choices import DELAYED
from netpart.graph.graph import LAYER, Graph
from netpart.graph.partition import Partition
from netpart.plan.price.cost import part_cost
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerEntry, compute_ledger
from netpart.plan.price.transfers import (
    connected_workers,
    entry_arrivals,
    entry_messages,
    handling_seconds,
    port_seconds,
)
from netpart.program.compile import compile_worker
from netpart.program.instructions import Way
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.wire_memory import wire_bytes
from netpart.program.schedules.schedule import schedule_order
from netpart.program.schedules.stages import StageGraph
from netpart.proto.element import float_size
from netpart.spec import size
from netpart.updaters import build_updater

Key = tuple[int, int]
"""(node, worker)."""
Work = defaultdict[Key, float]
"""Seconds of each key."""

NORM = -1
"""The number of the gradient norm's sum among those of buckets."""
SUMS = (Way.BUCKET, Way.VALUES, Way.NORM)
"""Messages that carry gradients of parameters, updated values, or the gradient norm."""


@dataclass(frozen=True)
class StepPrediction:
    """A training step: its seconds, the bytes sent between workers, and the seconds that each worker computes."""

    seconds: float
    moved: int
    busy: tuple[float, ...]


def predict_step(partition: Partition, devices: Devices, rates: Mapping[str, float] | None = None) -> StepPrediction:
    """Predict a training step of ``partition`` with worker w on device w.

    ``rates`` has, by layer, the work per counted FLOP if that is not 1 (``layer_loads.work_rates``).
    """
    micros = partition.phases["train"]
    entries = compute_ledger(partition).entries
    # One micro-batch is timed; the others enter through the pace of the busiest worker.
    first = [e for e in entries if e.channel.way not in SUMS and e.channel.micro == 0]
    *work, later = _computing_seconds(micros[0].graph, devices, rates or {}, partition.job.neuralnet.recompute)
    ways = [Way.FORWARD], [Way.BACKWARD, Way.REDUCE]
    moves = [_transfers_by_layer(micros[0].graph, [e for e in first if e.channel.way in way], devices) for way in ways]
    forward = _pass_seconds(micros[0].graph, work[0], Work(float), moves[0])
    backward = _pass_seconds(micros[0].graph, work[1], later, moves[1], reverse=True)
    computing = [sum(s for part in work for (_, w), s in part.items() if w == worker) for worker in range(len(devices))]
    messages = entry_messages(first)
    # The ports of hosts have a pace too: a port passes one message after another.
    paces = [port_seconds(messages, devices), *map(add, computing, handling_seconds(messages, devices))]
    sums = [e for e in entries if e.channel.way in SUMS]
    left = _unhidden_seconds(sums, backward * len(micros), devices) + max(_streaming_seconds(partition, sums, devices))
    taken = forward + backward + (len(micros) - 1) * max(paces) + left
    if schedule_order(partition.job) == DELAYED:
        taken = max(len(micros) * max(paces), taken / (1 + StageGraph(micros[0].graph, delayed=True).depth))
    return StepPrediction(taken, sum(e.nbytes for e in entries), tuple(s * len(micros) for s in computing))


def _computing_seconds(
    graph: Graph, devices: Devices, rates: Mapping[str, float], recompute: bool
) -> tuple[Work, Work, Work]:
    """Seconds by layer and worker: of forward, of backward, and of the part of backward after the gradient of the input
    has been sent. With ``recompute``, backward starts with another forward pass."""
    forward = Work(float)
    backward = Work(float)
    later = Work(float)
    for part in graph.parts:
        if part.kind == LAYER:
            node = graph.net.nodes[part.node]
            cost = part_cost(graph, part)
            key = (part.node, part.worker)
            rate = rates.get(node.name, 1.0) / devices.devices[part.worker].speed
            forward[key] += cost.forward * rate
            backward[key] += (cost.backward + cost.forward * (recompute and part.live)) * rate
            later[key] += cost.params * rate * (node.layer.splits_backward and any(cost.inputs))
    return forward, backward, later


class LayerTransfer(NamedTuple):
    """The transfer of a layer's output, or its gradient. By worker: the seconds until the last message to it has
    arrived, the seconds that messages keep it busy, and the workers that it exchanges any with."""

    arrivals: Sequence[float]
    handled: Sequence[float]
    peers: Mapping[int, set[int]]


def _transfers_by_layer(graph: Graph, entries: Sequence[LedgerEntry], devices: Devices) -> dict[int, LayerTransfer]:
    """The transfer of each layer that sends anything."""
    found: dict[int, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        found[graph.parts[entry.channel.edge].node].append(entry)
    return {node: _time_transfer(of_node, devices) for node, of_node in found.items()}


def _time_transfer(entries: Sequence[LedgerEntry], devices: Devices) -> LayerTransfer:
    """The transfer for ``entries``. No worker is busy for longer than it lasts: it receives messages while others
    leave."""
    messages = entry_messages(entries)
    arrivals = entry_arrivals(entries, devices)
    handled = [min(max(arrivals), busy) for busy in handling_seconds(messages, devices)]
    return LayerTransfer(arrivals, handled, connected_workers(messages))


def _pass_seconds(
    graph: Graph, work: Work, later: Work, moves: Mapping[int, LayerTransfer], reverse: bool = False
) -> float:
    """Seconds of one micro-batch in one direction through the net; ``reverse``: backward, from readers to sources. A
    result may be sent before the part of the seconds in ``work`` that is ``later``."""
    free = defaultdict[int, float](float)
    done = dict[Key, float]()
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
    return max(free.values(), default=0.0)


def _arrival_seconds(
    graph: Graph, done: Mapping[Key, float], moves: Mapping[int, LayerTransfer], moved: int, source: int, worker: int
) -> float:
    """The time at which the result of ``source`` is on ``worker``: at once if local, or when the messages of the
    transfer ``moved`` have come, which leave when all workers that take part in it are done."""
    workers = graph.placements[source].workers
    if moved in moves and (arrival := moves[moved].arrivals[worker]):
        return max((done[source, w] for w in workers if w in moves[moved].peers[worker]), default=0.0) + arrival
    return max((done[source, w] for w in workers if w == worker), default=0.0)


def _unhidden_seconds(entries: Sequence[LedgerEntry], backward: float, devices: Devices) -> float:
    """Seconds that the sums of gradients continue after backward has ended."""
    of_sum: dict[int, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        of_sum[NORM if entry.channel.way == Way.NORM else entry.channel.edge].append(entry)
    # The norm is summed when all gradients are.
    norm = max(entry_arrivals(of_sum.pop(NORM, []), devices))
    # Sums of the same workers follow one another. Those of others do not wait for them, but may share their ports.
    groups = connected_workers(entry_messages(entries))
    chains: dict[int, list[list[LedgerEntry]]] = defaultdict(list)
    for found in of_sum.values():
        chains[min(groups[found[0].source])].append(found)
    each = (sum(max(entry_arrivals(found, devices)) for found in chain) for chain in chains.values())
    taken = max([port_seconds(entry_messages(entries), devices), *each])
    # The last sums can only start when backward ends; the earlier ones overlap with it.
    last = max(entry_arrivals([entry for chain in chains.values() for entry in chain[-1]], devices))
    return max(last, taken - backward) + norm


def _streaming_seconds(partition: Partition, sums: Iterable[LedgerEntry], devices: Devices) -> list[float]:
    """Seconds in which each worker updates parameters, and copies and adds the gradients of others."""
    width = float_size(partition.job)
    slots = len(build_updater(partition.job.updater).states)
    moved = [0] * len(devices)
    for worker, holdings in enumerate(partition.holdings[: len(devices)]):
        updated = sum(size(h.home) for h in holdings if h.parameter.name in partition.trained)
        moved[worker] += updated * width * (3 + 2 * slots)  # reads value, gradient and states; writes all but that
    for entry in sums:
        for worker in (entry.source, entry.target):
            # Adding a block reads two arrays and writes one.
            moved[worker] += 3 * entry.nbytes
    return [nbytes / device.streaming for nbytes, device in zip(moved, devices.devices, strict=True)]


def predict_memory(partition: Partition) -> tuple[int, ...]:
    """Bytes of each worker: the memory that its compiled program allocates, and its messages in flight."""
    slots = len(build_updater(partition.job.updater).states)
    kernels = job_kernel_class(partition.job)
    programs = [compile_worker(partition, worker, slots, kernels=kernels) for worker in range(partition.workers)]
    return tuple(program.total_bytes + wire_bytes(program, slots=True) for program in programs)
