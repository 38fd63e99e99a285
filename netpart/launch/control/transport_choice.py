"""Which transport a run uses, and how a worker makes its end of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpart.errors import ConfigError
from netpart.kernels.device import array_module
from netpart.launch.control.worker_devices import CPU, placed
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport.transport import Transport

TRANSPORTS = ("auto", "zeromq", "shm", "cuda-ipc")
GIVEN = {"threads": "memory", "mpi": "mpi"}
"""What the workers of some launchers exchange tensors through; nobody has to ask for it."""


def choose(wanted: str, launcher: str, places: Sequence[str] = ()) -> str:
    """The transport of a run: "memory", "mpi", "cuda-ipc", "shm" or "zeromq".

    ``wanted``: "auto" shares memory between processes of one host that can, that of GPUs between those on GPUs, and
    uses ZeroMQ between others. ``places`` are the devices of the workers. Raises ConfigError for a transport that this
    launcher, this host or these workers do not have.
    """
    from netpart.transport.host_memory import refusal

    if wanted not in TRANSPORTS:
        raise ConfigError("--transport", f"one of {', '.join(TRANSPORTS)}", repr(wanted))
    if launcher in GIVEN:
        if wanted != "auto":
            raise ConfigError("--transport", f"auto, as --launcher {launcher} has its own", wanted, "leave it away")
        return GIVEN[launcher]
    why = refusal() if launcher == "local" else "workers of other hosts cannot see its memory"
    if wanted in ("shm", "cuda-ipc") and why:
        raise ConfigError("--transport", "a host that can share memory", f"none: {why}", "use --transport zeromq")
    on_gpus = sum(place != CPU for place in places)
    if wanted == "cuda-ipc" and on_gpus < 2:
        raise ConfigError("--transport", "at least 2 workers on GPUs", str(on_gpus), "use --transport auto")
    return "zeromq" if why else {"auto": "cuda-ipc" if on_gpus > 1 else "shm"}.get(wanted, wanted)


def make(welcome: WelcomeProto, rank: int) -> Transport:
    """The end of worker ``rank``, a process, of the transport that its coordinator chose."""
    if welcome.transport == "zeromq":
        from netpart.transport.zeromq import ZeroMQTransport

        return ZeroMQTransport(rank, welcome.run_id)
    places = placed(welcome.device.split(",")) if welcome.transport == "cuda-ipc" else []
    if places and places[rank] != CPU:
        from netpart.transport.cuda_ipc import CudaIpcTransport

        xp, _ = array_module(places[rank])
        return CudaIpcTransport(rank, welcome.run_id, welcome.workers, xp, _near(xp, places, rank))
    from netpart.transport.shm import ShmTransport

    return ShmTransport(rank, welcome.run_id, welcome.workers)


def _near(xp: Any, places: Sequence[str], rank: int) -> set[int]:
    """The ranks on GPUs that reach the one of ``rank``, and that it reaches."""
    from netpart.transport.device_memory import reaches

    numbers = {other: int(place.partition(":")[2]) for other, place in enumerate(places) if place != CPU}
    own = numbers[rank]
    return {other for other, gpu in numbers.items() if reaches(xp, own, gpu) and reaches(xp, gpu, own)}
