"""Training as PyTorch's DataParallel does it, on a CPU: one process whose threads each train on a part of a mini-batch.

    python -m benchmarks.peers.torch_dp FOLDER REPLICAS THREADS < COMMANDS

DataParallel itself needs GPUs. Here a thread replaces each GPU. The mini-batch is *scattered*. The first thread has the
net itself, and the others *replicas* whose parameters are copied in every step. All go forward and backward at once,
and the first *gathers* their gradients. Batch normalisation uses the statistics of each thread's own rows; the running
statistics are those of the first. Commands and answers are those of torch_train, eager alone. THREADS are those of
PyTorch within a replica.
"""

from __future__ import annotations

import copy
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.torch_trainer import Trainer, resident


class DataParallel(Trainer):
    """Trains ``replicas`` replicas of a net from ``folder``, a thread each."""

    def __init__(self, folder: Path, layout: str, replicas: int, threads: int) -> None:
        super().__init__(folder, layout)
        self.nets = [self.net, *(copy.deepcopy(self.net) for _ in range(replicas - 1))]
        self.pool = ThreadPoolExecutor(replicas, initializer=torch.set_num_threads, initargs=(threads,))

    def train(self, batch: list[Any]) -> Any:
        """One step; the loss before it."""
        self.rule.zero_grad(set_to_none=True)
        scattered = zip(*(torch.tensor_split(rows, len(self.nets)) for rows in batch), strict=True)
        self.replicate()
        losses = list(self.pool.map(self.gradients, self.nets, scattered, [len(batch[0])] * len(self.nets)))
        self.gather()
        self.rule.step()
        return sum(losses)

    def replicate(self) -> None:
        """Copies the parameters to all replicas."""
        with torch.no_grad():
            for replica in self.nets[1:]:
                for own, copied in zip(self.net.parameters(), replica.parameters(), strict=True):
                    copied.copy_(own)
                    copied.grad = None

    def gradients(self, net: Any, part: tuple[Any, ...], rows: int) -> Any:
        """Forward and backward of one replica; its share of the loss."""
        loss = net(*part) * (len(part[0]) / rows)
        loss.backward()
        return loss.detach()

    def gather(self) -> None:
        """Adds the gradients of all replicas to those of the net."""
        for replica in self.nets[1:]:
            for own, copied in zip(self.net.parameters(), replica.parameters(), strict=True):
                own.grad += copied.grad


def main() -> None:
    """Carry out the commands of stdin."""
    folder = Path(sys.argv[1])
    replicas = int(sys.argv[2])
    threads = int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    imported = resident("VmRSS")
    trainers: dict[str, DataParallel] = {}
    for line in sys.stdin:
        command = json.loads(line)
        layout = command["layout"]
        if layout not in trainers:
            trainers[layout] = DataParallel(folder, layout, replicas, threads)
        found = trainers[layout].play(command["steps"])
        print(json.dumps(found | {"imported": imported, "peak": resident("VmHWM")}), flush=True)


if __name__ == "__main__":
    main()
