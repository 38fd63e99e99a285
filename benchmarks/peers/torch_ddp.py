"""PyTorch's DistributedDataParallel over gloo: processes that each train on a part of every mini-batch.

    python -m benchmarks.peers.torch_ddp FOLDER RANKS THREADS < COMMANDS

Commands and answers are those of torch_train, eager alone; the seconds of a step are those of the process that took
longest, the loss is the mean. Batch normalisation takes the statistics of each process's own rows, as DDP does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel

from benchmarks.peers.torch_trainer import Trainer, resident

LOOK_SECONDS = 1.0
"""How often a waiting process looks whether the others live."""


def distributed(net: Any) -> Any:
    """``net`` as every process trains it."""
    return DistributedDataParallel(net, forward_sync_buffers=False, gradient_as_bucket_view=True, static_graph=True)


def serve(
    rank: int, ranks: int, threads: int, meet: str, folder: Path, commands: list[Any], answers: Any
) -> None:  # fmt: skip
    """One process: plays what comes until None does; the first one answers."""
    torch.set_num_threads(threads)
    torch.manual_seed(1 + rank)
    imported = resident("VmRSS")
    dist.init_process_group("gloo", init_method=f"file://{meet}/meet", rank=rank, world_size=ranks)
    trainers: dict[str, Trainer] = {}
    while (command := commands[rank].get()) is not None:
        layout = command["layout"]
        if layout not in trainers:
            trainers[layout] = Trainer(folder, layout, False, rank, ranks, distributed)
        found = trainers[layout].play(command["steps"])
        seconds, losses = torch.tensor(found["seconds"]), torch.tensor(found["losses"])
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        dist.all_reduce(losses)
        if rank == 0:
            told = {"seconds": seconds.tolist(), "losses": (losses / ranks).tolist()}
            answers.put(told | {"imported": imported, "peak": resident("VmHWM")})
    dist.destroy_process_group()


def answer(answers: Any, processes: Any) -> dict[str, Any]:
    """The next answer; raises what a process raised instead."""
    while True:
        try:
            found: dict[str, Any] = answers.get(timeout=LOOK_SECONDS)
            return found
        except Empty:
            processes.join(timeout=0)


def main() -> None:
    """Does what comes on stdin."""
    folder, ranks, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    context = multiprocessing.get_context("spawn")
    commands, answers = [context.Queue() for _ in range(ranks)], context.Queue()
    with TemporaryDirectory() as meet:
        arguments = ranks, threads, meet, folder, commands, answers
        processes = multiprocessing.spawn(serve, arguments, nprocs=ranks, join=False)
        for line in sys.stdin:
            for queue in commands:
                queue.put(json.loads(line))
            print(json.dumps(answer(answers, processes)), flush=True)
        for queue in commands:
            queue.put(None)
        while not processes.join(timeout=LOOK_SECONDS):
            pass


if __name__ == "__main__":
    main()
