"""PyTorch's DistributedDataParallel over gloo: processes that each train on a part of every mini-batch.

    python -m benchmarks.peers.torch_ddp FOLDER RANKS THREADS < COMMANDS

Commands and answers are those of torch_train, eager alone; the seconds of a step are those of the slowest
process, the loss is the mean. Batch normalisation uses the statistics of each process's own rows, as DDP does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel

from benchmarks.peers.ranks import command
from benchmarks.peers.torch_trainer import Trainer, resident


def distributed(net: Any) -> Any:
    """``net`` as every process trains it."""
    return DistributedDataParallel(net, forward_sync_buffers=False, gradient_as_bucket_view=True, static_graph=True)


def serve(
    rank: int, ranks: int, threads: int, meet: str, folder: Path, commands: list[Any], answers: Any
) -> None:  # fmt: skip
    """Run one process: play commands until None arrives; the first process answers."""
    torch.set_num_threads(threads)
    torch.manual_seed(1 + rank)
    imported = resident("VmRSS")
    dist.init_process_group("gloo", init_method=f"file://{meet}/meet", rank=rank, world_size=ranks)
    trainers: dict[str, Trainer] = {}
    while (request := commands[rank].get()) is not None:
        layout = request["layout"]
        if layout not in trainers:
            trainers[layout] = Trainer(folder, layout, False, rank, ranks, distributed)
        found = trainers[layout].play(request["steps"])
        seconds, losses = torch.tensor(found["seconds"]), torch.tensor(found["losses"])
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        dist.all_reduce(losses)
        if rank == 0:
            steps = {"seconds": seconds.tolist(), "losses": (losses / ranks).tolist()}
            answers.put(steps | {"imported": imported, "peak": resident("VmHWM")})
    dist.destroy_process_group()


def main() -> None:
    """Carry out the commands of stdin."""
    folder = Path(sys.argv[1])
    ranks = int(sys.argv[2])
    threads = int(sys.argv[3])
    context = multiprocessing.get_context("spawn")
    commands, answers = [context.Queue() for _ in range(ranks)], context.Queue()
    with TemporaryDirectory() as meet:
        arguments = ranks, threads, meet, folder, commands, answers
        processes = multiprocessing.spawn(serve, arguments, nprocs=ranks, join=False)
        command(sys.stdin, commands, answers, processes)


if __name__ == "__main__":
    main()
