"""NCCL choice: whether the collectives of a run are calls of NCCL.

An NCCL call runs when the GPUs of all members have reached it, each in the order of its own stream. Plans only
guarantee that a worker that waits for a collective has started it. So this module checks the stronger condition: it
plays the instructions of all workers with collectives that no member leaves before all have entered. If that completes,
the real run completes too, because there hosts run ahead of their GPUs and collectives overlap with computation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from warnings import catch_warnings

from netpart.choices import CPU
from netpart.errors import ConfigError, ProgramRefused
from netpart.graph.partition import Partition
from netpart.kernels.device import array_module
from netpart.proto.job_pb2 import Collectives


def settle_collectives(partition: Partition, places: Sequence[str]) -> None:
    """Set the collectives of the job of ``partition`` to NCCL, if NCCL can be used and the job allows the choice.

    ``places`` are the devices of all ranks; empty if the ranks are not processes of this host. Raises ConfigError for a
    job that requires NCCL where it cannot be used.
    """
    job = partition.job
    wanted = [Collectives.NCCL] if partition.workers == 1 else [Collectives.NCCL, Collectives.AUTO]
    if job.collectives not in wanted:
        return
    why = _nccl_refusal(partition, places)
    if why and job.collectives == Collectives.NCCL:
        needed = "workers in processes of one host, each with a GPU of its own"
        raise ConfigError("--collectives nccl", needed, why, "use --collectives auto")
    if not why:
        job.collectives = Collectives.NCCL


def _nccl_refusal(partition: Partition, places: Sequence[str]) -> str:
    """The reason why NCCL cannot be used for the collectives; "" if it can."""
    cluster = partition.cluster
    if not places:
        return "threads, or workers of other hosts"
    # NCCL refuses two ranks of a communicator on one GPU.
    together = defaultdict[str, list[int]](list)
    for rank, place in enumerate(places):
        if not cluster.is_server(rank):
            together[place].append(rank)
    if CPU in together:
        return f"{_describe_ranks(together[CPU])} on the CPU"
    shared = [f"{_describe_ranks(ranks)} on {place}" for place, ranks in together.items() if len(ranks) > 1]
    served = "parameter servers" if partition.servers else ""
    return ", ".join(shared) or served or missing_nccl() or _find_start_disorder(partition)


def _describe_ranks(ranks: Sequence[int]) -> str:
    """Ranks in words."""
    return f"worker{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def missing_nccl() -> str:
    """What CuPy lacks for NCCL; "" if it has everything."""
    xp, _ = array_module("cuda")
    with catch_warnings(action="ignore"):  # where it is missing CuPy warns, at length
        found = import_module(f"{xp.__name__}.cuda.nccl")
    return "" if found.available else "no NCCL: pip install 'netpart[nccl13]', or 'netpart[nccl12]' with CUDA 12"


def _find_start_disorder(partition: Partition) -> str:
    """Which workers would deadlock with NCCL; "" if none would."""
    from netpart.program.compile import compile_worker
    from netpart.program.messages.communication import list_communications
    from netpart.program.messages.deadlock_check import check_deadlocks

    try:
        check_deadlocks(
            [list_communications(compile_worker(partition, w)) for w in range(partition.workers)], together=True
        )
    except ProgramRefused as error:
        return f"collectives that workers start in different orders: {error}"
    return ""
