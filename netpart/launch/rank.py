"""Entry of a worker that mpiexec has started: its number is its rank in MPI, and its tensors travel through MPI."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Mapping

from netpart.errors import TransportError
from netpart.launch.entry import die_with_parent


def main() -> None:
    """Runs one worker and ends MPI with all others; exit code 0 if it went to its end.

    A worker that fails does not end MPI: mpiexec then ends the others, who would wait for it. It also sees who ends
    before MPI has started, but only if a signal did it.
    """
    die_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator hears it and tells the workers
    try:
        done = run(os.environ)
    except BaseException:
        traceback.print_exc()
        os.kill(os.getpid(), signal.SIGKILL)
        raise
    sys.exit(0 if done else 1)


def run(environment: Mapping[str, str]) -> bool:
    """Plays the worker that ``environment`` tells what MpiTeam says; True if it went to its end."""
    from netpart.transport.mpi import start

    world = start()  # before anybody is heard: it holds the interpreter until all ranks are there, heartbeat included
    if world.size != int(environment["NETPART_WORKERS"]):
        raise TransportError(
            f"expected MPI to have {environment['NETPART_WORKERS']} ranks, got {world.size}; "
            "take mpiexec and the library that mpi4py loads from one MPI"
        )
    import zmq

    from netpart.launch.member import serve
    from netpart.proto.control_pb2 import WelcomeProto
    from netpart.transport.mpi import MpiTransport, end
    from netpart.transport.transport import Transport

    def connect(welcome: WelcomeProto) -> Transport:
        return MpiTransport(world.rank, welcome.run_id, world)

    address, token = environment["NETPART_CONTROL"], bytes.fromhex(environment["NETPART_TOKEN"])
    with zmq.Context() as context:
        done = serve(context, address, world.rank, token, connect, "", sys.stderr)
    if done:
        end(world)
    return done


if __name__ == "__main__":
    main()
