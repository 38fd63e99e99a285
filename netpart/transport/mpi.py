"""MpiTransport: frames between the ranks of an MPI job, over whatever network MPI drives.

    worker --Isend--> rank 1        ranks --matched probe, Irecv--> mailbox --> worker
           --Isend--> rank 2

A frame is one message of bytes, header and payload. Its tag is the receiver's rank, and MPI keeps the order between two
ranks. MPI makes progress only inside its calls: a large frame leaves while its sender looks for messages, waits or
flushes, not while it computes. MPI has no call that blocks for a limited time, and no descriptor to poll. So a wait
polls repeatedly: for SPIN seconds without a pause, then with naps.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np

from netpart.errors import TransportError
from netpart.transport.frames import (
    HEADER,
    RUN_ID_BYTES,
    Array,
    Channel,
    FrameHeader,
    frame_payload,
    pack_header,
    read_frame_header,
)
from netpart.transport.transport import Transport

if TYPE_CHECKING:
    from mpi4py import MPI

SPIN = 500e-6
"""Seconds of polling without a pause: enough for the answer to a short message. Each poll yields the core."""
NAP = 100e-6
"""Seconds between two polls of a long wait: it takes about a tenth of a core and delays a message by half a nap."""
HINT = "read the logs of the other ranks for the first error"


@dataclass
class _PendingFrame:
    """A frame in flight: MPI reads or writes it until ``request`` is done."""

    frame: memoryview
    request: MPI.Request


class MpiTransport(Transport):
    """One rank of run ``run_id`` (8 bytes) among the processes of ``comm``.

    Order of calls: ``expect`` for all that may arrive, ``bind``, ``connect``, then ``send`` and ``receive``, ``close``,
    which waits at most ``linger`` seconds for frames to leave. All ranks bind before one sends. Only ranks of this job
    can send frames, so a frame that is not of this run is an error here, too.
    """

    def __init__(self, rank: int, run_id: bytes, comm: MPI.Intracomm, *, linger: float = 1.0) -> None:
        from mpi4py import MPI

        super().__init__(rank)
        if len(run_id) != RUN_ID_BYTES:
            wanted = f"a run id of {RUN_ID_BYTES} bytes"
            raise TransportError(f"rank {rank}: expected {wanted}, got {len(run_id)}; pass one of that length")
        self._run_id = run_id
        self._linger = linger
        self._comm = comm
        self._open = True
        self._any = MPI.ANY_SOURCE
        self._status = MPI.Status()
        self._error = MPI.Exception
        self._places: dict[int, int] = {}
        self._leaving: dict[int, deque[_PendingFrame]] = {}
        self._coming: dict[int, deque[_PendingFrame]] = {}
        self._free: dict[int, list[memoryview]] = {}
        self._waiting: dict[Channel, deque[memoryview]] = {}
        self._lent: dict[Channel, memoryview] = {}

    def bind(self, address: str = "") -> str:
        """Return the address of this rank: its place in the communicator, as "mpi:3"."""
        return f"mpi:{self._comm.rank}"

    def connect(self, addresses: Mapping[int, str]) -> None:
        """Store the peers' places, which their ``bind`` returned. Raises TransportError for a malformed address."""
        for peer, address in addresses.items():
            scheme, _, place = address.partition(":")
            if scheme != "mpi" or not place.isdecimal() or int(place) >= self._comm.size:
                below = f"mpi: and a number below {self._comm.size}"
                wanted = f"as address of rank {peer} {below}"
                raise TransportError(f"rank {self.rank}: expected {wanted}, got {address}; pass what its bind returned")
            self._places[peer] = int(place)

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        self.mailbox.check()
        if peer not in self._places:
            raise self._stranger(peer)
        header = FrameHeader(self.rank, channel, step, array.dtype, array.shape)
        packed = pack_header(header, self._run_id)
        with self._blaming(f"rank {peer} to be reachable"):
            frame = self._room_to_send(array.nbytes)
            frame[: HEADER.size] = packed
            np.copyto(frame_payload(frame, header), array)
            request = self._comm.Isend(frame, self._places[peer], peer)
        self._leaving.setdefault(array.nbytes, deque()).append(_PendingFrame(frame, request))
        self._count(channel, array.nbytes, HEADER.size)

    def receive(self, channel: Channel, step: int) -> Array | None:
        array = super().receive(channel, step)
        if array is not None:
            self._lend(channel)
        return array

    def wait(self, seconds: float) -> bool:
        return self._until(self._has_news, seconds)

    def flush(self, seconds: float) -> bool:
        return self._until(self._has_left, seconds)

    def close(self) -> None:
        self.mailbox.close()
        if self._open:
            with suppress(TransportError):
                self.flush(self._linger)
            self._open = False

    def _until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Poll until ``done``, for at most ``seconds``; False if it was not done by then."""
        began = monotonic()
        while not done():
            waited = monotonic() - began
            if waited >= seconds:
                return False
            if waited > SPIN:
                sleep(min(NAP, seconds - waited))
            else:
                os.sched_yield()
        return True

    def _has_news(self) -> bool:
        self._take_in()
        return self.mailbox.news()

    def _has_left(self) -> bool:
        """True once MPI has released all sent frames. Receives as well, so that peers that flush make progress."""
        self._take_in()
        with self._blaming("what was sent to leave"):
            return all(slot.request.Test() for slots in self._leaving.values() for slot in slots)

    def _room_to_send(self, nbytes: int) -> memoryview:
        """A frame for a payload of ``nbytes``: the oldest one of that size if MPI has released it, else a new one."""
        slots = self._leaving.get(nbytes)
        if slots and slots[0].request.Test():
            return slots.popleft().frame
        return memoryview(bytearray(HEADER.size + nbytes))

    def _take_in(self) -> None:
        """Start to receive all that has come, and move complete messages into the mailbox, in each sender's order."""
        if not self._open:
            return
        with self._blaming("its peers to be reachable"):
            while (message := self._comm.Improbe(self._any, self.rank, self._status)) is not None:
                frame = self._room_to_receive(self._status.count)
                self._coming.setdefault(self._status.source, deque()).append(_PendingFrame(frame, message.Irecv(frame)))
            for slots in self._coming.values():  # MPI may complete a later frame first: only the oldest is tested
                while slots and slots[0].request.Test():
                    self._arrived(slots.popleft().frame)

    def _arrived(self, frame: memoryview) -> None:
        try:
            header = read_frame_header(frame, self._run_id)
        except TransportError as error:
            self.mailbox.fail(f"rank {self.rank}: {error}")
            return
        if self.mailbox.accepts(header):
            self._waiting.setdefault(header.channel, deque()).append(frame)
            self.mailbox.put(header, frame_payload(frame, header))

    def _room_to_receive(self, nbytes: int) -> memoryview:
        free = self._free.get(nbytes)
        return free.pop() if free else memoryview(bytearray(nbytes))

    def _lend(self, channel: Channel) -> None:
        """Keep the frame of the message just taken from a channel, which is being read, and free the one before."""
        before = self._lent.pop(channel, None)
        if before is not None:
            self._free.setdefault(len(before), []).append(before)
        self._lent[channel] = self._waiting[channel].popleft()

    @contextmanager
    def _blaming(self, expected: str) -> Iterator[None]:
        """Turn an error of MPI into a TransportError, which reports what was ``expected``."""
        try:
            yield
        except self._error as error:
            raise TransportError(f"rank {self.rank}: expected {expected}, got from MPI: {error}; {HINT}") from None


__all__ = ["MpiTransport"]
