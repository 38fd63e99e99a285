"""Forecast of each worker's memory: what its compiled Programs allocate, and messages in flight."""

from __future__ import annotations

from netpart.graph.partition import Partition
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.wire_memory import opened_bytes, wire_bytes
from netpart.program.program import WorkerProgram
from netpart.program.server import compile_server
from netpart.updaters import build_updater


def program_memory(program: WorkerProgram, slots: bool = True, opens: bool = False) -> int:
    """Bytes of the buffers of a worker, and of messages in flight. The workspace of kernels is not counted.

    ``slots`` and ``opens`` are those of the transport: memory for each channel, and for frames that are decrypted.
    """
    return program.total_bytes + wire_bytes(program, slots) + (opened_bytes(program) if opens else 0)


def forecast_memory(partition: Partition, slots: bool = True, opens: bool = False) -> list[int]:
    """The memory of every rank of a run, in bytes: of the workers of all groups, then of the servers.

    A worker's is what `netpart check` shows for shared memory, except with servers: then those keep the updater's
    state. Of another transport, ``slots`` and ``opens`` are those of ``program_memory``.
    """
    states = len(build_updater(partition.job.updater).states)
    kernels = job_kernel_class(partition.job)
    own = 0 if partition.servers else states
    numbers = range(partition.workers - partition.servers)
    programs = [compile_worker(partition, number, own, kernels=kernels) for number in numbers]
    servers = range(len(numbers), partition.workers)
    programs += [compile_server(partition, number, states) for number in servers]
    found = [program_memory(program, slots, opens) for program in programs]
    cluster = partition.cluster
    return [found[cluster.number_in_group(rank)] for rank in range(cluster.size)]
