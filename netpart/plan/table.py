"""What ``netpart check`` shows: one row per layer and one per worker, for one training step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce

from netpart.graph.build import type_name
from netpart.graph.graph import LAYER, Graph
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.plan.cost import held_bytes, itemsize, price, sent
from netpart.plan.cuts import cut_text
from netpart.program.compile import compile_worker
from netpart.spec import RECORD, Shape, size, whole
from netpart.updaters import updater


@dataclass(frozen=True)
class LayerRow:
    """One layer. ``shape`` is that of a micro-batch; FLOPs and ``moved`` are of a step, all micro-batches together.

    ``memory`` counts values, their gradients, and parameters with gradients and updater state, on all workers, as if
    nothing shared memory.
    """

    name: str
    type: str
    shape: Shape
    cut: str
    workers: tuple[int, ...]
    parameters: int
    forward_flops: int
    backward_flops: int
    moved: int
    memory: int

    @property
    def flops(self) -> int:
        """FLOPs of a step."""
        return self.forward_flops + self.backward_flops


@dataclass(frozen=True)
class WorkerRow:
    """One worker: its layer parts, the parameters it holds, FLOPs, bytes it sends per step, bytes it needs."""

    worker: int
    parts: int
    parameters: int
    flops: int
    sent: int
    memory: int


@dataclass(frozen=True)
class Table:
    """A partitioned training net in numbers. ``rows`` is the mini-batch; ``parameters`` counts shared ones once."""

    name: str
    rows: int
    micro_batches: int
    parameters: int
    layers: tuple[LayerRow, ...]
    workers: tuple[WorkerRow, ...]

    @property
    def flops(self) -> int:
        """FLOPs of a step."""
        return sum(row.flops for row in self.layers)

    @property
    def moved(self) -> int:
        """Bytes of payload that workers send each other in a step."""
        return sum(row.moved for row in self.layers)


def tabulate(partition: Partition) -> Table:
    """Prices the training step of ``partition``. Raises ConfigError for an updater that cannot be."""
    micros = partition.phases["train"]
    slots = len(updater(partition.job.updater).slots)
    moved, sends = Counter[str](), Counter[int]()
    for message in sent(partition):
        moved[message.layer] += message.bytes
        sends[message.worker] += message.bytes
    held = parameter_bytes(partition, slots)
    rows = [layer_rows(micro.graph, itemsize(partition)) for micro in micros]
    layers = (reduce(added, same) for same in zip(*rows, strict=True))
    return Table(
        micros[0].graph.net.name, micros[-1].rows[1], len(micros), sum(size(whole(p.spec.shape)) for p in owned(partition)),
        tuple(replace(row, moved=moved[row.name], memory=row.memory + held[row.name]) for row in layers),
        tuple(worker_row(partition, worker, slots, sends[worker]) for worker in range(partition.workers)),
    )  # fmt: skip


def owned(partition: Partition):  # type: ignore[no-untyped-def]
    return partition.graph.net.parameters
