"""All-reduces of MPI: MPICH on one host, over shared memory.

mpiexec -n 2 python -m benchmarks.peers.reduce_mpi
"""

from __future__ import annotations

import json

import numpy as np
from mpi4py import MPI

from benchmarks.reduce import timed


def main() -> None:
    """Print a list of seconds, one per size, of the slowest member."""
    comm = MPI.COMM_WORLD
    seconds = np.array(list(timed(lambda array: comm.Allreduce(MPI.IN_PLACE, array)).values()))
    comm.Allreduce(MPI.IN_PLACE, seconds, op=MPI.MAX)
    if comm.rank == 0:
        print(json.dumps(seconds.tolist()))


if __name__ == "__main__":
    main()
