"""Shares of each worker in each layer for one training step: regions, FLOPs, memory, and bytes sent and received."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition
from netpart.plan.price.cost import (
    held_bytes,
    owner_names,
    parameter_elements,
    part_cost,
    partition_itemsize,
    share_channel_bytes,
)
from netpart.plan.price.ledger import Ledger, compute_ledger
from netpart.program.instructions import Channel
from netpart.program.kernel_choice import job_kernel_class
from netpart.spec import Region, Shard
from netpart.updaters import build_updater

Key = tuple[str, int]
"""(layer, worker)."""


@dataclass(frozen=True)
class LayerShare:
    """The share of one worker in one layer. ``shards`` are those of the first micro-batch; the rest is for a whole
    step.

    ``memory`` counts as the layer rows of ``netpart check`` do: values, gradients, parameters with state. ``received``
    and ``sent`` are bytes that carry the layer's output, its gradient and the gradients of its parameters.
    """

    worker: int
    shards: tuple[Shard, ...]
    flops: int
    memory: int
    received: int
    sent: int


class StepCounts(NamedTuple):
    """FLOPs forward, FLOPs backward, and bytes held if no memory is shared, each by layer and worker; and the messages
    of a training step. For many workers they take long to count, so what reads them all is given them."""

    forward: Counter[Key]
    backward: Counter[Key]
    memory: Counter[Key]
    moves: Ledger


def count_step(partition: Partition) -> StepCounts:
    """The counts of a training step of ``partition``."""
    return StepCounts(*_flops_and_memory(partition), compute_ledger(partition))


def layer_shares(partition: Partition, counts: StepCounts | None = None) -> dict[str, list[LayerShare]]:
    """The shares of every layer of the training net, by its name, for all workers that compute or transfer a part of
    it. ``counts`` are those of ``partition``, if they are known."""
    forward, backward, memory, moves = counts or count_step(partition)
    flops = forward + backward
    received, sent = _exchanged_bytes(partition, moves)
    found: dict[str, list[LayerShare]] = {}
    for node in partition.graph.net.nodes:
        on: dict[int, list[Shard]] = defaultdict(list)
        for shard in partition.graph.placements[node.index].shards:
            on[shard.worker].append(shard)
        keys = [(node.name, worker) for worker in range(partition.workers)]
        found[node.name] = [
            LayerShare(key[1], tuple(on.get(key[1], ())), flops[key], memory[key], received[key], sent[key])
            for key in keys
            if key[1] in on or received[key] or sent[key]
        ]
    return found


def _flops_and_memory(partition: Partition) -> tuple[Counter[Key], Counter[Key], Counter[Key]]:
    """FLOPs forward, FLOPs backward, and bytes held if no memory is shared, each by layer and worker."""
    forward = Counter[Key]()
    backward = Counter[Key]()
    memory = Counter[Key]()
    kernels = job_kernel_class(partition.job)
    for micro in partition.phases["train"]:
        for part in micro.graph.parts:
            key = micro.graph.net.nodes[part.node].name, part.worker
            memory[key] += held_bytes(micro.graph, part, partition_itemsize(partition), kernels)
            if part.kind == LAYER:
                cost = part_cost(micro.graph, part)
                forward[key] += cost.forward
                backward[key] += cost.backward
    slots = len(build_updater(partition.job.updater).states)
    owners = owner_names(partition)
    for worker, holdings in enumerate(partition.holdings):
        for holding in holdings:
            elements = parameter_elements(partition, holding, slots)
            memory[owners[holding.parameter.name], worker] += elements * partition_itemsize(partition)
    return forward, backward, memory


def sum_by_layer(counts: Counter[Key]) -> Counter[str]:
    """The sums over workers."""
    found = Counter[str]()
    for (layer, _), count in counts.items():
        found[layer] += count
    return found


def sum_by_worker(counts: Counter[Key]) -> Counter[int]:
    """The sums over layers."""
    found = Counter[int]()
    for (_, worker), count in counts.items():
        found[worker] += count
    return found


def _exchanged_bytes(partition: Partition, moves: Ledger) -> tuple[Counter[Key], Counter[Key]]:
    """Bytes received and sent, by layer and worker."""
    received = _bytes_by_worker(partition, ((flow.channel, flow.received) for flow in moves.flows))
    sent = _bytes_by_worker(partition, ((flow.channel, flow.sent) for flow in moves.flows))
    return received, sent


def _bytes_by_worker(partition: Partition, flows: Iterable[tuple[Channel, Mapping[int, int]]]) -> Counter[Key]:
    """Bytes by layer and worker, from those of each channel by worker."""
    of_worker: dict[int, Counter[Channel]] = defaultdict(Counter)
    for channel, bytes_of in flows:
        for worker, nbytes in bytes_of.items():
            if nbytes:
                of_worker[worker][channel] += nbytes
    found = Counter[Key]()
    for worker, channels in of_worker.items():
        shared = share_channel_bytes(partition, channels)
        found.update({(name, worker): nbytes for name, nbytes in shared.items()})
    return found


def region_text(region: Region, whole: Region) -> str:
    """``[0:8, :, 3:5]``: a box in Python notation, with ``:`` for a whole axis."""
    spans = [":" if span == full else f"{span[0]}:{span[1]}" for span, full in zip(region, whole, strict=True)]
    return f"[{', '.join(spans)}]" if spans else "records"


def shards_text(shards: Sequence[Shard], whole: Region) -> str:
    """The boxes of some shards; for addends also the inputs that they sum over."""
    texts = [
        region_text(s.region, whole) + (f" of inputs {s.term[0][0]}:{s.term[0][1]}" if s.term else "") for s in shards
    ]
    return " ".join(texts) or "-"
