"""Entry point of a worker that mpiexec starts. Its number is its MPI rank, and its tensors are sent through MPI.

    mpiexec ── proxy ── guard ── worker        one guard per worker: it waits for the worker and logs how it ended

mpiexec ends all processes as soon as one has ended, and cannot report afterwards which was the first. So the guard
writes it to the worker's log before the guard itself ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from netpart.errors import NetpartError, TransportError
from netpart.launch.control.cores import own_thread_variables
from netpart.launch.teams.exit_status import describe_exit
from netpart.launch.teams.worker_entry import die_with_parent, ignore_coordinator_signals

CRASH_SECONDS = 0.5
"""How long mpiexec does not learn that a worker crashed: its link may have crashed because a peer was killed, and the
guard of that one must have logged it before mpiexec ends all of them. Workers that end with an exit code have told the
coordinator why."""


def _start_mpi_worker() -> int:
    """Run one worker with a guard; return 0 if the worker completed, and MPI with it.

    A worker that fails does not finalise MPI. mpiexec then ends the other workers, which would wait for it.
    """
    ignore_coordinator_signals()
    try:
        os.environ.update(own_thread_variables(os.environ, int(os.environ["NETPART_THREADS"])))
        fork_guarded_worker()
        return 0 if _run_mpi_worker(os.environ) else 1
    except NetpartError as error:
        sys.exit(f"error: {error}")


def fork_guarded_worker() -> None:
    """Fork. The child continues as the worker and dies with the parent; the parent waits, logs how it ended, and ends
    too.

    A failure is written to the log, and reported to mpiexec by a signal: mpiexec ignores exit codes while MPI starts.
    """
    # Before the fork: the guard must not outlive mpiexec's proxy.
    die_with_parent(os.getppid())
    guard, worker = os.getpid(), os.fork()
    if not worker:
        die_with_parent(guard)
        return
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    if code:
        sys.stderr.write(f"process {worker} ended: {describe_exit(code)}\n")
        sys.stderr.flush()
        if code < 0 and code != -signal.SIGKILL:
            select.select([], [], [], CRASH_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _run_mpi_worker(environment: Mapping[str, str]) -> bool:
    """Run the worker that ``environment`` describes (see MpiTeam.start). Return True if it completed."""
    from netpart.transport.mpi import MpiTransport
    from netpart.transport.mpi_world import end_mpi, start_mpi

    # Before the first heartbeat: MPI_Init holds the interpreter lock until all ranks have started, so the thread that
    # sends heartbeats could not run meanwhile.
    world = start_mpi()
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
    sys.exit(_start_mpi_worker())
