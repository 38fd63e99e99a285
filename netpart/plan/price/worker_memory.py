"""Forecast of each worker's memory: what its compiled Programs allocate, and messages in flight."""

from __future__ import annotations

from netpart.graph.partition import Partition
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.wire_memory import wire_bytes
from netpart.program.program import WorkerProgram
from netpart.program.server import compile_server
from netpart.updaters import build_updater


def program_memory(program: WorkerProgram) -> int:
    """Bytes of the buffers of a worker, and of messages in flight. The workspace of kernels is not counted."""
    return program.total_bytes + wire_bytes(program, slots=True)


def forecast_memory(partition: Partition) -> list[int]:
    """The memory of every rank of a run, in bytes: of the workers of all groups, then of the servers.

    A worker's is what `netpart check` shows, except with servers: then those keep the updater's state.
    """
    slots = len(build_updater(partition.job.updater).states)
    kernels = job_kernel_class(partition.job)
    own = 0 if partition.servers else slots
    numbers = range(partition.workers - partition.servers)
    found = [program_memory(compile_worker(partition, number, own, kernels=kernels)) for number in numbers]
    servers = range(len(numbers), partition.workers)
    found += [program_memory(compile_server(partition, number, slots)) for number in servers]
    cluster = partition.cluster
    return [found[cluster.number_in_group(rank)] for rank in range(cluster.size)]
