"""Differences between two partitions: layers that are cut differently, and the changed figures of a training step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.plan.price.ledger import LedgerFlow, compute_ledger
from netpart.plan.price.worker_shares import shards_text
from netpart.plan.text.cut_text import place_text
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.instructions import Way
from netpart.spec import Placement

KINDS = {
    Way.FORWARD: "activations", Way.BACKWARD: "gradients of activations", Way.REDUCE: "sums over replicas",
    Way.BUCKET: "sums of parameters' gradients", Way.VALUES: "updated parameters", Way.NORM: "norm of the gradient",
}  # fmt: skip
"""Payload of each kind of message, over a bridge or in a collective."""

PlacedNode = tuple[Node, Placement]


@dataclass(frozen=True)
class LayerChange:
    """A layer that is cut differently; None if a partition does not have it. ``layer@phase`` for phases other than
    training."""

    layer: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class MeasureChange:
    """A figure of both partitions: ``what`` ("moves", "FLOPs" or "memory") of ``whose``; None for a worker that is
    missing."""

    what: str
    whose: str
    before: int | None
    after: int | None

    @property
    def ratio(self) -> float | None:
        """The figure after, relative to the figure before."""
        return self.after / self.before if self.before and self.after is not None else None


@dataclass(frozen=True)
class PartitionDifference:
    """All layers that changed, and all figures, of one training step."""

    layers: tuple[LayerChange, ...]
    measures: tuple[MeasureChange, ...]

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not self.layers and all(m.before == m.after for m in self.measures)


def compare_partitions(before: Partition, after: Partition) -> PartitionDifference:
    """The differences between two partitions, of one job or of two."""
    return PartitionDifference(tuple(_layer_changes(before, after)), tuple(_measure_changes(before, after)))


def _layer_changes(before: Partition, after: Partition) -> Iterator[LayerChange]:
    """Layers with different placements; one that differs in training is not repeated for other phases."""
    old = _layer_placements(before)
    new = _layer_placements(after)
    reported: set[str] = set()
    for key in dict.fromkeys([*old, *new]):
        name = key.partition("@")[0]
        a, b = old.get(key), new.get(key)
        if name not in reported and (a and a[1]) != (b and b[1]):
            reported.add(name)
            yield LayerChange(key, *_describe_change(a, b))


def _layer_placements(partition: Partition) -> dict[str, PlacedNode]:
    """The placement of every layer for the first micro-batch of each phase."""
    found: dict[str, PlacedNode] = {}
    for phase, micros in partition.phases.items():
        graph = micros[0].graph
        for node in (node for node in graph.net.nodes if not node.inserted):
            placement = graph.placements[node.index]
            training = phase == "train"
            kept = placement if training else replace(placement, sum_gradient=False)
            found[node.name if training else f"{node.name}@{phase}"] = node, kept
    return found


def _describe_change(a: PlacedNode | None, b: PlacedNode | None) -> tuple[str | None, str | None]:
    """Both placements in words, with shapes if these differ, or region by region if the words are the same."""
    shapes = [placed and placed[0].layer.output.shape for placed in (a, b)]
    words = [placed and place_text(placed[0].layer, placed[1]) for placed in (a, b)]
    if a and b and shapes[0] != shapes[1]:
        words = [f"{text} of {'×'.join(map(str, shape or ()))}" for text, shape in zip(words, shapes, strict=True)]
    elif words[0] == words[1]:
        words = [placed and shards_text(placed[1].shards, placed[0].layer.output.whole) for placed in (a, b)]
    return words[0], words[1]


def _measure_changes(before: Partition, after: Partition) -> Iterator[MeasureChange]:
    """Bytes by kind and in total; FLOPs and memory of the busiest worker and of each."""
    old = _bytes_by_kind(before)
    new = _bytes_by_kind(after)
    for kind in KINDS.values():
        if old[kind] or new[kind]:
            yield MeasureChange("moves", kind, old[kind], new[kind])
    yield MeasureChange("moves", "all", old.total(), new.total())
    tables = tabulate_partition(before).workers, tabulate_partition(after).workers
    for what, numbers in {
        "FLOPs": [[worker.flops for worker in table] for table in tables],
        "memory": [[worker.memory for worker in table] for table in tables],
    }.items():
        a, b = numbers
        yield MeasureChange(what, "most", max(a), max(b))
        for worker in range(max(len(a), len(b))):
            yield MeasureChange(what, f"worker {worker}", *(n[worker] if worker < len(n) else None for n in numbers))


def _bytes_by_kind(partition: Partition) -> Counter[str]:
    """Bytes of a training step by kind of message."""
    found = Counter[str]()
    for entry in compute_ledger(partition).flows:
        found[message_kind(entry)] += entry.nbytes
    return found


def message_kind(entry: LedgerFlow) -> str:
    """The kind of payload of a message."""
    return KINDS[entry.channel.way]
