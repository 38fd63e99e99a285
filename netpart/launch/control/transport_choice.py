"""Transport choice: which transport a run uses, and how a worker makes its end of it."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.choices import AUTO, CPU, CUDA_IPC, LOCAL, MEMORY, MPI, SHM, THREADS, ZEROMQ
from netpart.errors import ConfigError
from netpart.families import TRANSPORTS
from netpart.kernels.device import array_module
from netpart.launch.control.seal_choice import read_secret
from netpart.launch.control.worker_devices import resolve_devices
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport.transport import Endpoint, Transport

GIVEN = {THREADS: MEMORY, MPI: MPI}
"""The transport of launchers that have only one."""


def choose_transport(wanted: str, launcher: str, places: Sequence[str] = ()) -> str:
    """The transport of a run: "memory", "mpi", or a member of ``netpart.families.TRANSPORTS``.

    ``wanted``: "auto" uses shared memory between processes of one host if possible, GPU memory between those on GPUs,
    and ZeroMQ otherwise. ``places`` are the devices of the workers. Raises ConfigError for a transport that this
    launcher, this host or these workers do not have.
    """
    from netpart.transport.host_memory import shared_memory_refusal

    if wanted != AUTO:
        TRANSPORTS.get(wanted, who="--transport")
    if launcher in GIVEN:
        if wanted != AUTO:
            raise ConfigError("--transport", f"auto, as --launcher {launcher} has its own", wanted, "omit --transport")
        return GIVEN[launcher]
    why = shared_memory_refusal() if launcher == LOCAL else "workers of other hosts cannot see its memory"
    if wanted in (SHM, CUDA_IPC) and why:
        raise ConfigError("--transport", "a host that can share memory", f"none: {why}", "use --transport zeromq")
    on_gpus = sum(place != CPU for place in places)
    if wanted == CUDA_IPC and on_gpus < 2:
        raise ConfigError("--transport", "at least 2 workers on GPUs", str(on_gpus), "use --transport auto")
    if wanted != AUTO:
        return wanted
    return ZEROMQ if why else CUDA_IPC if on_gpus > 1 else SHM


def make_transport(welcome: WelcomeProto, rank: int) -> Transport:
    """The end of worker ``rank``, a process, of the transport that its coordinator chose."""
    devices = resolve_devices(welcome.device.split(",")) if welcome.transport == CUDA_IPC else []
    xp, _ = array_module(devices[rank] if devices else CPU)
    open_transport = TRANSPORTS.get(welcome.transport, who="--transport")
    return open_transport(Endpoint(rank, welcome.run_id, welcome.workers, devices, xp, read_secret(welcome)))
