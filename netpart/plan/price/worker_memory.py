"""Forecast of each worker's memory: what its compiled Programs allocate, and messages in flight."""

from __future__ import annotations

from netpart.graph.partition import Partition
from netpart.plan.price.kernel_workspace import workspace_bytes
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.wire_memory import wire_bytes
from netpart.program.program import WorkerProgram
from netpart.program.server import compile_server
from netpart.proto.job_pb2 import JobProto
from netpart.updaters import build_updater


def program_memory(program: WorkerProgram, job: JobProto) -> int:
    """Bytes of the buffers of a worker of ``job``, of the workspace of its kernels, and of messages in flight."""
    return program.total_bytes + workspace_bytes(program, job) + wire_bytes(program, slots=True)


def forecast_memory(partition: Partition) -> list[int]:
    """The memory of every rank of a run, in bytes: of the workers of all groups, then of the servers.

    A worker's is what `netpart check` shows, except with servers: then those keep the updater's state.
    """
    slots = len(build_updater(partition.job.updater).states)
    kernels = job_kernel_class(partition.job)
    own = 0 if partition.servers else slots
    numbers = range(partition.workers - partition.servers)
    programs = [compile_worker(partition, number, own, kernels=kernels) for number in numbers]
    servers = range(len(numbers), partition.workers)
    programs += [compile_server(partition, number, slots) for number in servers]
    found = [program_memory(program, partition.job) for program in programs]
    cluster = partition.cluster
    return [found[cluster.number_in_group(rank)] for rank in range(cluster.size)]
