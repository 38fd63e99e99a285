"""What ``netpart check`` shows: one row per layer and one per worker, for one training step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import prod

from netpart.graph.build import type_name
from netpart.graph.graph import LAYER, Graph
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.plan.cost import held_bytes, itemsize, moved, owner_names, parameter_elements, price
from netpart.plan.cuts import cut_text
from netpart.plan.ledger import ledger
from netpart.program.communication import Phases, communications
from netpart.program.compile import compile_worker
from netpart.program.kernels import choice, kernels_of
from netpart.program.program import WorkerProgram
from netpart.program.recompute import repeated
from netpart.program.rehearse import rehearse
from netpart.program.wire import wire_bytes
from netpart.spec import Shape, size
from netpart.updaters import updater


@dataclass(frozen=True)
class LayerRow:
    """One layer. ``shape`` is that of a micro-batch; FLOPs and ``moved`` are of a step, all micro-batches together.

    ``memory`` counts values, their gradients, what forward leaves for backward, and parameters with gradients and
    updater state, on all workers, as if nothing shared memory.
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
    """One worker: its layer parts, the parameters it holds, FLOPs, bytes it sends per step, bytes of its
    buffers and of messages on their way.

    A run needs a little more ``memory`` than that, for the workspace of its kernels. Of the memory ``version_bytes``
    are the ``versions`` of parameters that are held for mini-batches under way, but the newest.
    """

    worker: int
    parts: int
    parameters: int
    flops: int
    sent: int
    memory: int
    versions: int = 1
    version_bytes: int = 0


@dataclass(frozen=True)
class Table:
    """A partitioned training net in numbers; ``rows`` is its mini-batch.

    ``multiply_adds`` are those of the products and convolutions that one row passes forward in the uncut net: what
    papers call its FLOPs. ``kernels`` are those of the job on this host, in words. Of the FLOPs, ``recomputed_flops``
    compute activations again.
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


def tabulate(partition: Partition) -> Table:
    """Prices the training step of ``partition`` and rehearses all its phases.

    Raises ConfigError for an updater that cannot be, ProgramRefused for workers that would never finish.
    """
    micros, slots = partition.phases["train"], len(updater(partition.job.updater).states)
    entries, parameters = ledger(partition).entries, parameter_bytes(partition, slots)
    bytes_of, sends = moved(partition, entries), Counter[int]()
    for entry in entries:
        sends[entry.source] += entry.nbytes
    workers, spoken, kernels = list[WorkerRow](), list[Phases](), kernels_of(partition.job)
    again = Counter[int]()
    for worker in range(partition.workers):
        program = compile_worker(partition, worker, slots, kernels=kernels)
        more = recomputed(partition, program)
        workers.append(worker_row(partition, program, sends[worker], more.total()))
        spoken.append(communications(program))
        again += more
    rehearse(spoken)
    net = micros[0].graph.net
    layers = [
        replace(
            row, forward_flops=row.forward_flops + again[node.index], moved=bytes_of[row.name],
            memory=row.memory + parameters[row.name],
        )
        for node, row in zip(net.nodes, layer_rows(partition), strict=True)
    ]  # fmt: skip
    rows, products, kernel = micros[-1].rows[1], multiply_adds(net), str(choice(partition.job))
    return Table(net.name, rows, len(micros), kernel, products, tuple(layers), tuple(workers), again.total())


def multiply_adds(net: Net) -> int:
    """Multiply-adds of the products and convolutions that one row passes on its way forward."""
    return sum(node.layer.cost(node.layer.output.whole).products for node in net.nodes) // max(net.rows, 1)


def layer_rows(partition: Partition) -> list[LayerRow]:
    """The rows of all layers in net order, without what parameters take and messages move."""
    forward, backward, memory = Counter[int](), Counter[int](), Counter[int]()
    kernels = kernels_of(partition.job)
    for micro in partition.phases["train"]:
        for part in micro.graph.parts:
            memory[part.node] += held_bytes(micro.graph, part, itemsize(partition), kernels)
            if part.kind == LAYER:
                cost = price(micro.graph, part)
                forward[part.node] += cost.forward
                backward[part.node] += cost.backward
    graph = partition.graph
    return [
        layer_row(graph, node, forward[node.index], backward[node.index], memory[node.index])
        for node in graph.net.nodes
    ]


def layer_row(graph: Graph, node: Node, forward: int, backward: int, memory: int) -> LayerRow:
    """The row of one layer, with its sums over all parts."""
    layer, placement = node.layer, graph.placements[node.index]
    owned = [p.spec for p in dict.fromkeys(node.params) if p.owner == node.index]
    parameters = sum(prod(spec.shape) for spec in owned if spec.running is None)
    return LayerRow(
        node.name, type_name(node.conf).removeprefix("k"), layer.output.shape, cut_text(layer, placement),
        placement.workers, parameters, forward, backward, 0, memory,
    )  # fmt: skip


def parameter_bytes(partition: Partition, slots: int) -> Counter[str]:
    """Bytes of parameters, their gradients and updater state on all workers, by the layer that owns them."""
    found, owners = Counter[str](), owner_names(partition)
    for holding in (holding for held in partition.holdings for holding in held):
        name = holding.parameter.name
        found[owners[name]] += parameter_elements(partition, holding, slots) * itemsize(partition)
    return found


def recomputed(partition: Partition, program: WorkerProgram) -> Counter[int]:
    """FLOPs of what one worker computes again in a step, by node."""
    found, micros = Counter[int](), partition.phases["train"]
    for call in repeated(program.phases["train"].instructions):
        graph = micros[call.micro].graph
        part = graph.parts[call.part]
        found[part.node] += price(graph, part).forward
    return found


def worker_row(partition: Partition, program: WorkerProgram, sent: int, again: int) -> WorkerRow:
    """The row of one worker, which computes ``again`` FLOPs twice; its memory is what its compiled programs will
    allocate, and shared memory."""
    flops, parts, worker = again, 0, program.worker
    for micro in partition.phases["train"]:
        for part in micro.graph.of_worker(worker):
            if part.kind == LAYER:
                cost = price(micro.graph, part)
                flops += cost.forward + cost.backward
                parts += micro is partition.phases["train"][0]
    parameters = sum(size(holding.box) for holding in partition.holdings[worker])
    memory = program.total_bytes + wire_bytes(program, slots=True)
    versions = program.versions, program.version_bytes
    return WorkerRow(worker, parts, parameters, flops, sent, memory, *versions)
