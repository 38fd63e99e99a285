"""PyTorch's tensor parallelism: ColwiseParallel and RowwiseParallel in turn over gloo, netpart's scheme COLUMN_ROW.

    python -m benchmarks.peers.torch_tp 2 < WORKS

Each line of WORKS is the JSON of a benchmarks.mlp.Work for 2 workers; PyTorch takes long to start, so it starts once
for all of them. Each is answered by one line of JSON: the seconds of each step (of the slowest process), the loss of
each step, the collective calls of one step, as PyTorch counts them, and the bytes that a ring sends for them.
"""

from __future__ import annotations

import sys
import warnings
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import multiprocessing, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from benchmarks.peers.ranks import command


def make_net(start: dict[str, Any], depth: int, workers: int) -> Any:
    """The net of an even ``depth`` with its first weights, cut over ``workers``."""
    layers: list[Any] = []
    for n in range(1, depth + 1):
        layer = nn.Linear(*reversed(start[f"fc{n}/w"].shape))
        layer.load_state_dict({"weight": start[f"fc{n}/w"], "bias": start[f"fc{n}/b"]})
        layers += [layer, nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    plan = {str(2 * n): RowwiseParallel() if n % 2 else ColwiseParallel() for n in range(depth)}
    return parallelize_module(net, init_device_mesh("cpu", (workers,)), plan)


def train(work: dict[str, Any]) -> dict[str, Any]:
    """Train; return seconds and losses of the steps, and call and bytes of one."""
    start = load_file(work["start"])
    batch = work["batch"]
    depth = len(work["widths"]) - 1
    net = make_net(start, depth, work["workers"])
    data, labels = start["data"].split(batch), start["label"].long().split(batch)
    rule = torch.optim.SGD(net.parameters(), lr=work["rate"])

    losses, seconds = [0.0] * work["steps"], torch.empty(work["steps"], dtype=torch.float64)

    def play(step: int) -> None:
        began = perf_counter()
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(data[step % len(data)]), labels[step % len(data)])
        loss.backward()
        rule.step()
        losses[step] = float(loss.detach())
        seconds[step] = perf_counter() - began

    with warnings.catch_warnings(action="ignore"), CommDebugMode() as calls:  # it hooks modules without gradients
        play(0)
    for step in range(1, work["steps"]):
        play(step)
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
    return {"seconds": seconds.tolist(), "losses": losses, "calls": calls.get_total_counts(), "bytes": sent(work)}


def sent(work: dict[str, Any]) -> int:
    """Bytes of one step: an all-reduce after every second layer forward, and after the first of every pair except the
    last backward."""
    outputs = work["widths"][1:]
    return int(8 * (work["workers"] - 1) * work["batch"] * (sum(outputs[1::2]) + sum(outputs[1:-1:2])))


def serve(rank: int, workers: int, folder: str, works: list[Any], answers: Any) -> None:
    """Run one process: train each work until None arrives; the first process answers."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=workers)
    while (work := works[rank].get()) is not None:
        torch.set_num_threads(work["threads"])
        found = train(work)
        if rank == 0:
            answers.put(found)
    dist.destroy_process_group()


def main() -> None:
    """Train the works of stdin, and print the results."""
    workers, context = int(sys.argv[1]), multiprocessing.get_context("spawn")
    works, answers = [context.Queue() for _ in range(workers)], context.Queue()
    with TemporaryDirectory() as folder:
        processes = multiprocessing.spawn(serve, (workers, folder, works, answers), nprocs=workers, join=False)
        command(sys.stdin, works, answers, processes)


if __name__ == "__main__":
    main()
