"""Start and end of MPI in a process, both together with all other processes of its mpiexec."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.errors import TransportError

if TYPE_CHECKING:
    from mpi4py import MPI

SHARED_MEMORY = "/dev/shm/mpich_shm_"
"""The prefix of the names of MPICH's shared memory. MPICH removes them when it ends, but not after kill -9."""


def start_mpi() -> MPI.Intracomm:
    """Start MPI in a process of mpiexec, together with all others; return the communicator of all.

    Raises TransportError if mpi4py or a library of MPI is missing.
    """
    try:
        import mpi4py

        # Before MPI is imported: the import initializes MPI with these settings.
        mpi4py.rc.thread_level = "funneled"
        mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        got = " ".join(str(error).split())
        raise TransportError(f"expected mpi4py and a library of MPI, got: {got}; pip install 'netpart[mpi]'") from None
    MPI.COMM_WORLD.Barrier()  # no process still has to open the memory by its name
    unlink_mpich_memory()
    return MPI.COMM_WORLD


def end_mpi(world: MPI.Intracomm) -> None:
    """End MPI, together with all other processes; a process that fails does not call this, and mpiexec ends MPI.

    MPI does not end before every message is received, but no worker reads the last ones of a run. So once all have
    finished, each rank sends each other an empty message as the last one, and drops all that arrives up to it.
    """
    from mpi4py import MPI

    world.Barrier()
    others = [place for place in range(world.size) if place != world.rank]
    farewells = [world.Isend(b"", place, place) for place in others]
    for place in others:
        while _drop_message(world, place):
            pass
    MPI.Request.Waitall(farewells)
    MPI.Finalize()


def _drop_message(world: MPI.Intracomm, source: int) -> int:
    """Wait for the next message of a rank and drop it; return its number of bytes."""
    from mpi4py import MPI

    status = MPI.Status()
    message = world.Mprobe(source, world.rank, status)
    message.Recv(bytearray(status.count))
    return status.count


def unlink_mpich_memory() -> None:
    """Remove the names of shared memory that all processes have mapped: it then ends with the last process."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        name = line.split(maxsplit=5)[-1]
        if name.startswith(SHARED_MEMORY):
            with suppress(FileNotFoundError):
                Path(name).unlink()
