"""Groups of transports of one process, promised, bound and connected: one line in GROUPS each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
import zmq

from netpart.choices import AES_GCM, CURVE
from netpart.errors import TransportError
from netpart.transport.cuda_ipc import CudaIpcTransport
from netpart.transport.frames import Array, Channel
from netpart.transport.memory import MemoryHub
from netpart.transport.mpi import MpiTransport
from netpart.transport.seal_keys import WireSecret
from netpart.transport.shm import ShmTransport
from netpart.transport.transport import Transport
from netpart.transport.zeromq import ZeroMQTransport
from tests.cuda.module import emulated

RUN = b"law-7run"
DEADLINE = 30.0
"""Seconds after which a message that should have come never will."""

Promise = Callable[[list[Transport]], None]
Group = Callable[[int, Promise], AbstractContextManager[list[Transport]]]
"""Yields so many transports, connected, once a promise has been made on them."""


@contextmanager
def memory(n: int, promise: Promise) -> Iterator[list[Transport]]:
    hub = MemoryHub(n)
    transports: list[Transport] = [hub[rank] for rank in range(n)]
    promise(transports)
    yield transports
    for transport in transports:
        transport.close()


def zeromq(scheme: str, cipher: str = "") -> Group:
    @contextmanager
    def group(n: int, promise: Promise) -> Iterator[list[Transport]]:
        with zmq.Context() as context, ExitStack() as stack:
            shared = context if scheme == "inproc" else None
            secret = WireSecret(cipher, bytes(32), RUN, everywhere=True) if cipher else None
            made = (ZeroMQTransport(rank, RUN, context=shared, secret=secret) for rank in range(n))
            ranks = [stack.enter_context(transport) for transport in made]
            promise([*ranks])
            addresses = {transport.rank: transport.bind(scheme) for transport in ranks}
            for transport in ranks:
                transport.connect(addresses)
            yield [*ranks]

    return group


@contextmanager
def shm(n: int, promise: Promise) -> Iterator[list[Transport]]:
    with ExitStack() as stack:
        ranks = [stack.enter_context(ShmTransport(rank, RUN, n)) for rank in range(n)]
        promise([*ranks])
        addresses = {transport.rank: transport.bind() for transport in ranks}
        for transport in ranks:
            transport.connect(addresses)
        yield [*ranks]


class OnDevice(CudaIpcTransport):
    """Arrays of the host on the device, and back; each rank has a stream of its own, which works only when it must."""

    def __init__(self, rank: int, n: int, xp: Any) -> None:
        self.stream = xp.cuda.Stream(non_blocking=True)
        super().__init__(rank, RUN, n, xp, range(n))

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        with self.stream:
            super().send(channel, step, peer, self.xp.asarray(array))

    def receive(self, channel: Channel, step: int) -> Array | None:
        with self.stream:
            found = super().receive(channel, step)
            return None if found is None else np.asarray(self.xp.asnumpy(found))


@contextmanager
def cuda_ipc(n: int, promise: Promise) -> Iterator[list[Transport]]:
    """All ranks on one emulated GPU."""
    with emulated("cupy.ipc").alone(), ExitStack() as stack:
        ranks = [stack.enter_context(OnDevice(rank, n, emulated())) for rank in range(n)]
        promise([*ranks])
        addresses = {transport.rank: transport.bind() for transport in ranks}
        for transport in ranks:
            transport.connect(addresses)
        yield [*ranks]


@contextmanager
def mpi(n: int, promise: Promise) -> Iterator[list[Transport]]:
    """All ranks in one process of MPI, whose messages to itself they tell apart by their tags."""
    from mpi4py import MPI

    ranks: list[Transport] = [MpiTransport(rank, RUN, MPI.COMM_SELF) for rank in range(n)]
    promise(ranks)
    addresses = {transport.rank: transport.bind("") for transport in ranks}
    for transport in ranks:
        transport.connect(addresses)
    yield ranks
    for transport in ranks:
        with suppress(TransportError):
            transport.wait(0)  # takes in what nobody asked for, so that it does not wait for the next group
    for transport in ranks:
        transport.close()


GROUPS: dict[str, Group] = {
    "cuda-ipc": cuda_ipc,
    "memory": memory,
    "mpi": mpi,
    "shm": shm,
    "zeromq-inproc": zeromq("inproc"),
    "zeromq-ipc": zeromq("ipc"),
    "zeromq-sealed": zeromq("tcp", AES_GCM),
    "zeromq-curve": zeromq("tcp", CURVE),
    "zeromq-tcp": zeromq("tcp"),
}


def release(transports: list[Transport]) -> None:
    """Lets no rank wait for one that has failed."""
    for transport in transports:
        transport.mailbox.fail("another rank failed")
