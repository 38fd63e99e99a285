"""One rank of a real MPI job that plays law 7 on random programs; mpiexec -n N python mpi_ranks.py PROGRAMS STEPS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

from netpart.transport.frames import DTYPES, HEADER
from netpart.transport.mpi import MpiTransport
from netpart.transport.mpi_world import end_mpi, start_mpi
from tests.laws.groups import DEADLINE
from tests.laws.test_transport import Line, play, promised

SHAPES = ((0,), (), (3, 5), (9000,), (100, 101), (3, 700_000))


def lines(random: Random, n: int) -> Iterator[Line]:
    """Up to eight channels between ranks, of any type and size."""
    for edge in range(random.randint(1, 8)):
        sender, receiver = random.sample(range(n), 2)
        yield Line(edge, sender, receiver, random.choice(SHAPES), random.choice(DTYPES))


def main() -> None:
    programs, steps = map(int, sys.argv[1:])
    world = start_mpi()
    for seed in range(programs):
        drawn = list(lines(Random(seed), world.size))
        transport = MpiTransport(world.rank, b"law-7run", world)
        promised(drawn)([transport if rank == world.rank else MpiTransport(rank, b"unused--", world)
                         for rank in range(world.size)])  # fmt: skip
        transport.bind()
        transport.connect({rank: f"mpi:{rank}" for rank in range(world.size)})
        world.Barrier()  # nobody sends before all have promised
        play(transport, drawn, steps, Random(world.rank))
        assert transport.flush(DEADLINE)
        sent = steps * sum((line.sender == world.rank) + (line.receiver == world.rank) for line in drawn)
        assert transport.header_bytes == sent * HEADER.size
    end_mpi(world)


if __name__ == "__main__":
    main()
