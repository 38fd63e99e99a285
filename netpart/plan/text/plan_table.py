"""Table that ``netpart check`` shows: one row per layer and one per worker, for one training step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from netpart.graph.build import type_name
from netpart.graph.graph import LAYER, Graph
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.plan.price.cost import part_cost, traffic_by_layer
from netpart.plan.price.worker_memory import ModelledWorker, model_workers
from netpart.plan.price.worker_shares import StepCounts, count_step, sum_by_layer, sum_by_worker
from netpart.plan.text.cut_text import cut_text
from netpart.program.kernel_choice import choose_job_kernels
from netpart.program.messages.communication import Phases, list_communications
from netpart.program.messages.deadlock_check import check_deadlocks
from netpart.program.messages.translate_channels import translate_communications
from netpart.program.passes.recompute import repeated_forwards
from netpart.program.worker_shape import MemoryShape
from netpart.spec import Shape, size
from netpart.updaters import build_updater


@dataclass(frozen=True)
class LayerRow:
    """One layer. ``shape`` is that of a micro-batch; FLOPs and ``moved`` are for a step, all micro-batches together.

    ``memory`` counts values, their gradients, what forward keeps for backward, and parameters with gradients and
    updater state, on all workers, as if no memory were shared.
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
    """One worker: its layer parts, the parameters that it holds, FLOPs and bytes sent per step, and its memory.

    ``memory`` is the bytes of its buffers, of the workspace of its kernels and of messages in flight. ``version_bytes``
    of it are the ``versions`` of parameters, except the newest, that are kept for mini-batches in flight. Its process
    takes ``bound_bytes`` more, for bound instructions and kernels.
    """

    worker: int
    parts: int
    parameters: int
    flops: int
    sent: int
    memory: int
    versions: int = 1
    version_bytes: int = 0
    bound_bytes: int = 0


@dataclass(frozen=True)
class PlanTable:
    """A partitioned training net in figures; ``rows`` is its mini-batch.

    ``multiply_adds`` are those of the products and convolutions for one row forward in the uncut net, which papers call
    its FLOPs. ``kernels`` describes the kernels that the job uses on this host. ``recomputed_flops`` are the FLOPs of
    recomputed activations.
    """

    name: str
    rows: int
    micro_batches: int
    kernels: str
    multiply_adds: int
    layers: tuple[LayerRow, ...]
    workers: tuple[WorkerRow, ...]
    recomputed_flops: int = 0

    @property
    def parameters(self) -> int:
        """Parameters of the uncut net; shared ones count once."""
        return sum(row.parameters for row in self.layers)

    @property
    def flops(self) -> int:
        """FLOPs of a step."""
        return sum(row.flops for row in self.layers)

    @property
    def moved(self) -> int:
        """Bytes of payload that workers send each other in a step."""
        return sum(row.moved for row in self.layers)


def tabulate_partition(partition: Partition, counts: StepCounts | None = None) -> PlanTable:
    """Price the training step of ``partition`` and check all its phases for deadlocks. ``counts`` as in
    ``layer_shares``.

    Raises ConfigError for an invalid updater, ProgramRefused for workers that would never finish.
    """
    slots = len(build_updater(partition.job.updater).states)
    *computed, moves = counts or count_step(partition)
    again = Counter[str]()
    flops = sum_by_worker(computed[0] + computed[1])
    workers = list[WorkerRow]()
    communications = list[Phases]()
    spoken: dict[int, Phases] = {}
    for each in model_workers(partition, slots, kind=MemoryShape):
        worker = each.shape.worker
        more = _count_recomputed(partition, each)
        workers.append(_worker_row(partition, each, moves.sent[worker], flops[worker] + more.total()))
        if each.model.worker not in spoken:
            spoken[worker] = list_communications(each.program, shared=True)
        communications.append(translate_communications(spoken[each.model.worker], each.model, each.shape))
        again += more
    check_deadlocks(communications)
    forward, backward, memory = map(sum_by_layer, computed)
    bytes_of = traffic_by_layer(partition, moves.flows)
    net = partition.graph.net
    micros = partition.phases["train"]
    layers = [
        _layer_row(
            partition.graph, node, forward[node.name] + again[node.name], backward[node.name], bytes_of[node.name],
            memory[node.name],
        )
        for node in net.nodes
    ]  # fmt: skip
    rows = micros[-1].rows[1]
    products = _multiply_adds(net)
    kernel = str(choose_job_kernels(partition.job))
    return PlanTable(net.name, rows, len(micros), kernel, products, tuple(layers), tuple(workers), again.total())


def _multiply_adds(net: Net) -> int:
    """Multiply-adds of the products and convolutions for one row forward."""
    return sum(node.layer.cost(node.layer.output.whole).products for node in net.nodes) // max(net.rows, 1)


def _layer_row(graph: Graph, node: Node, forward: int, backward: int, moved: int, memory: int) -> LayerRow:
    """The row of one layer, with sums over all its parts."""
    layer = node.layer
    placement = graph.placements[node.index]
    owned = [p.spec for p in dict.fromkeys(node.params) if p.owner == node.index]
    parameters = sum(prod(spec.shape) for spec in owned if spec.running is None)
    return LayerRow(
        node.name, type_name(node.conf).removeprefix("k"), layer.output.shape, cut_text(layer, placement),
        placement.workers, parameters, forward, backward, moved, memory,
    )  # fmt: skip


def _count_recomputed(partition: Partition, worker: ModelledWorker) -> Counter[str]:
    """FLOPs that one worker recomputes in a step, by layer."""
    found = Counter[str]()
    micros = partition.phases["train"]
    calls = list(repeated_forwards(worker.program.phases["train"].instructions))
    parts = {id(m.graph): worker.match_parts(m.graph) for m in micros} if calls else {}
    for call in calls:
        graph = micros[call.micro].graph
        part = parts[id(graph)][call.part]
        found[graph.net.nodes[part.node].name] += part_cost(graph, part).forward
    return found


def _worker_row(partition: Partition, found: ModelledWorker, sent: int, flops: int) -> WorkerRow:
    """The row of one worker; its memory is what its compiled programs allocate, with the workspace of
    their kernels, and shared memory."""
    worker = found.shape.worker
    parts = sum(part.kind == LAYER for part in partition.graph.parts_of_worker(worker))
    parameters = sum(size(holding.box) for holding in partition.holdings[worker])
    versions = found.program.versions, found.program.version_bytes
    return WorkerRow(worker, parts, parameters, flops, sent, found.memory, *versions, found.bound)
