"""Forecast of each worker's memory: what its compiled Programs allocate, and messages in flight."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

from netpart.graph.graph import Graph, Part
from netpart.graph.partition import Partition
from netpart.graph.saved_holdings import list_staged_bytes
from netpart.plan.price.bound_memory import bound_bytes
from netpart.plan.price.input_memory import input_bytes
from netpart.plan.price.kernel_workspace import count_calls, workspace_bytes
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.wire_memory import opened_bytes, wire_bytes
from netpart.program.program import WorkerProgram
from netpart.program.server import compile_server
from netpart.program.worker_shape import WorkerShape, find_equal_workers
from netpart.progress import track_items
from netpart.proto.job_pb2 import JobProto
from netpart.updaters import build_updater


class LinkMemory(NamedTuple):
    """For what a transport takes memory: ``slots`` of each channel, or frames; ``opens``: frames that are decrypted."""

    slots: bool
    opens: bool


SHARED_MEMORY = LinkMemory(slots=True, opens=False)
"""That of workers on one host."""


def program_memory(program: WorkerProgram, job: JobProto, links: LinkMemory = SHARED_MEMORY) -> int:
    """Bytes of the buffers of a worker of ``job``, of the workspace of its kernels, and of messages in flight."""
    messages = wire_bytes(program, links.slots) + (opened_bytes(program) if links.opens else 0)
    return program.total_bytes + workspace_bytes(program, job) + messages


def process_memory(program: WorkerProgram, job: JobProto, links: LinkMemory = SHARED_MEMORY) -> int:
    """``program_memory``, and the bytes that the inputs of the worker keep."""
    return program_memory(program, job, links) + input_bytes(program)


@dataclass(frozen=True)
class ModelledWorker:
    """A worker by its ``shape``; the first worker of this shape, its ``model``, with its compiled ``program``; and the
    bytes of ``memory`` that each of them takes. ``count_bound`` counts what its process takes besides."""

    shape: WorkerShape
    model: WorkerShape
    program: WorkerProgram
    memory: int
    count_bound: Callable[[], int]

    @property
    def bound(self) -> int:
        """Bytes that its process takes for bound instructions and kernels."""
        return self.count_bound()

    def match_parts(self, graph: Graph) -> dict[int, Part]:
        """The parts of the worker in ``graph``, by the index of the part of its model that has the same place."""
        pairs = zip(self.model.parts[id(graph)], self.shape.parts[id(graph)], strict=True)
        return {ours.index: theirs for ours, theirs in pairs}


def model_workers(
    partition: Partition, slots: int, links: LinkMemory = SHARED_MEMORY, kind: type[WorkerShape] = WorkerShape
) -> Iterator[ModelledWorker]:
    """All workers of a group, in order; of those of equal shape, of a ``kind`` of shape, only the first is compiled.

    The memory includes that from which a checkpoint is written while the worker trains on.
    """
    kernels = job_kernel_class(partition.job)
    known: dict[Hashable, ModelledWorker] = {}
    count = partition.workers - partition.servers
    staged = list_staged_bytes(partition, slots)
    for shape in track_items(find_equal_workers(partition, kernels, kind), "worker", count):
        first = known.get(shape.key)
        if first is None:
            program = compile_worker(partition, shape.worker, slots, kernels=kernels)
            memory = process_memory(program, partition.job, links)
            bound = cache(partial(_bound_bytes, program, partition.job))
            first = known[shape.key] = ModelledWorker(shape, shape, program, memory, bound)
        yield replace(first, shape=shape, memory=first.memory + staged[shape.worker])


def _bound_bytes(program: WorkerProgram, job: JobProto) -> int:
    """``bound_bytes`` of a worker of ``job``."""
    return bound_bytes(program, count_calls(program, job))


def forecast_memory(partition: Partition, links: LinkMemory = SHARED_MEMORY) -> list[int]:
    """The memory of every rank of a run, in bytes: of the workers of all groups, then of the servers.

    A worker's is what `netpart check` shows for shared memory, except with servers: then those keep the updater's
    state. ``links`` are those of another transport.
    """
    slots = len(build_updater(partition.job.updater).states)
    found = [model.memory for model in model_workers(partition, 0 if partition.servers else slots, links)]
    servers = range(len(found), partition.workers)
    staged = list_staged_bytes(partition, slots)
    programs = ((number, compile_server(partition, number, slots)) for number in servers)
    found += [program_memory(program, partition.job, links) + staged[number] for number, program in programs]
    cluster = partition.cluster
    return [
        found[number] - (0 if rank in cluster.checkpoint_ranks else staged[number])
        for rank, number in ((rank, cluster.number_in_group(rank)) for rank in range(cluster.size))
    ]
