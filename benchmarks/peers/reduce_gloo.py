"""All-reduces of gloo, called by PyTorch, over the loopback interface.

python -m benchmarks.peers.reduce_gloo 2
"""

from __future__ import annotations

import json
import sys
from tempfile import TemporaryDirectory

import torch
import torch.distributed as dist
from torch import multiprocessing

from benchmarks.reduce import timed


def member(rank: int, n: int, folder: str) -> None:
    """One process; the first prints a list of seconds, one per size, of the slowest member."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=n)
    seconds = torch.tensor(list(timed(lambda array: dist.all_reduce(torch.from_numpy(array))).values()))
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(json.dumps(seconds.tolist()), flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Start as many processes as the command line sets."""
    n = int(sys.argv[1])
    with TemporaryDirectory() as folder:
        multiprocessing.spawn(member, (n, folder), nprocs=n)


if __name__ == "__main__":
    main()
