"""Entry of a worker that mpiexec has started: its number is its rank in MPI, and its tensors travel through MPI.

    mpiexec ── proxy ── guard ── worker        one guard per worker: it waits for it and says how it has ended

mpiexec ends all processes as soon as one has ended, and cannot tell afterwards which was the first. The guard writes it
to the worker's log before it ends itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from netpart.errors import NetpartError, TransportError
from netpart.launch.control.cores import own_thread_variables
from netpart.launch.teams.exit_status import describe_exit
from netpart.launch.teams.worker_entry import die_with_parent


def main() -> int:
    """Runs one worker, with a guard; 0 if it went to its end, and MPI with it.

    A worker that fails does not end MPI: mpiexec then ends the others, who would wait for it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator hears it and tells the workers
    try:
        os.environ.update(own_thread_variables(os.environ, int(os.environ["NETPART_THREADS"])))
        fork_guarded_worker()
        return 0 if _run_mpi_worker(os.environ) else 1
    except NetpartError as error:
        sys.exit(f"error: {error}")


def fork_guarded_worker() -> None:
    """Goes on as a process that dies with this one; this one waits for it, tells how it ended, and ends likewise.

    A bad end is told in the log, and to mpiexec by a signal: it overlooks exit codes while MPI starts.
    """
    die_with_parent(os.getppid())
    guard, worker = os.getpid(), os.fork()
    if not worker:
        die_with_parent(guard)
        return
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    if code:
        sys.stderr.write(f"process {worker} ended: {describe_exit(code)}\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _run_mpi_worker(environment: Mapping[str, str]) -> bool:
    """Plays the worker that ``environment`` tells what MpiTeam says; True if it went to its end."""
    from netpart.transport.mpi import MpiTransport
    from netpart.transport.mpi_world import end_mpi, start_mpi

    world = (
        start_mpi()
    )  # before anybody is heard: it holds the interpreter until all ranks are there, heartbeat included
    if world.size != int(environment["NETPART_WORKERS"]):
        raise TransportError(
            f"expected MPI to have {environment['NETPART_WORKERS']} ranks, got {world.size}; "
            "take mpiexec and the library that mpi4py loads from one MPI"
        )
    import zmq

    from netpart.launch.control.address import is_tcp_address
    from netpart.launch.control.token import VARIABLE, parse_token
    from netpart.launch.member.join import exit_at_once as close
    from netpart.launch.member.member import RemoteHost, run_member
    from netpart.proto.control_pb2 import WelcomeProto
    from netpart.transport.transport import Transport

    def connect(welcome: WelcomeProto) -> Transport:
        return MpiTransport(world.rank, welcome.run_id, world)

    def lost() -> NoReturn:
        close(f"worker {world.rank}: lost its coordinator at {address}: that ended, or the link to it is broken")

    address = environment["NETPART_CONTROL"]
    ticket = parse_token(environment[VARIABLE], VARIABLE).ticket(world.rank)
    away = RemoteHost(None, lost) if is_tcp_address(address) else None
    with zmq.Context() as context:
        done = run_member(context, address, world.rank, ticket, connect, "", sys.stderr, away)
    if done:
        end_mpi(world)
    return done


if __name__ == "__main__":
    sys.exit(main())
