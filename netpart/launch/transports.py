"""Which transport a run uses, and how a worker makes its end of it."""

from __future__ import annotations

from netpart.errors import ConfigError
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport.transport import Transport

TRANSPORTS = ("auto", "zeromq", "shm")
GIVEN = {"threads": "memory", "mpi": "mpi"}
"""What the workers of some launchers exchange tensors through; nobody has to ask for it."""


def choose(wanted: str, launcher: str) -> str:
    """The transport of a run: "memory", "mpi", "shm" or "zeromq".

    ``wanted``: "auto" shares memory between processes of one host that can, and uses ZeroMQ between others. Raises
    ConfigError for one that this launcher or this host does not have.
    """
    from netpart.transport.shm import refusal

    if wanted not in TRANSPORTS:
        raise ConfigError("--transport", f"one of {', '.join(TRANSPORTS)}", repr(wanted))
    if launcher in GIVEN:
        if wanted != "auto":
            raise ConfigError("--transport", f"auto, as --launcher {launcher} has its own", wanted, "leave it away")
        return GIVEN[launcher]
    why = refusal() if launcher == "local" else "workers of other hosts cannot see its memory"
    if wanted == "shm" and why:
        raise ConfigError("--transport", "a host that can share memory", f"none: {why}", "use --transport zeromq")
    return "zeromq" if why else {"auto": "shm"}.get(wanted, wanted)


def make(welcome: WelcomeProto, rank: int) -> Transport:
    """The end of worker ``rank``, a process, of the transport that its coordinator chose."""
    if welcome.transport == "shm":
        from netpart.transport.shm import ShmTransport

        return ShmTransport(rank, welcome.run_id, welcome.workers)
    from netpart.transport.zeromq import ZeroMQTransport

    return ZeroMQTransport(rank, welcome.run_id)
