"""ZeroMQTransport: frames between processes of one host (ipc) or of several (tcp).

    worker --PUSH--> peer 1        peers --> PULL --> mailbox --> worker
           --PUSH--> peer 2

ZeroMQ's own thread, which does not need the Python interpreter, receives while the worker computes. So a send never
waits for the receiver's worker, which takes in what has come when it looks. The mailbox bounds what may accumulate. A
peer that sends more than was agreed waits in TCP once the queue is full: QUEUES times the messages that may be in
flight. Over tcp a peer shows a secret before its first frame is read (sockets.py). Links may be sealed: frame by frame
(sealing.py), or as connections of CURVE.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import TypeVar, cast

import numpy as np
import zmq

from netpart.choices import AES_GCM
from netpart.errors import TransportError
from netpart.transport.frames import (
    HEADER,
    RUN_ID_BYTES,
    Array,
    Channel,
    ForeignFrame,
    FrameHeader,
    frame_payload,
    pack_header,
    read_frame_header,
)
from netpart.transport.link_guard import LinkGuard
from netpart.transport.link_watch import LinkWatch, LostLink
from netpart.transport.seal_keys import WireSecret
from netpart.transport.sealing import NOBODY, TAG_BYTES, FrameOpener, LinkSealer, RefusedFrame
from netpart.transport.sockets import HANDSHAKE_BYTES, bind_socket, connect_socket, limited_socket
from netpart.transport.transport import WINDOW, Endpoint, Transport

HEARTBEAT, LOST = 1000, 5000
"""Milliseconds between heartbeats on tcp, and without a heartbeat until a link counts as lost."""
SLACK = 1 << 20
"""Bytes by which a frame may exceed the largest promise and still be read, so that the mistake can be reported."""
QUEUES, SPARE = 2, 16
"""The queue holds QUEUES times the messages that may wait, as ZeroMQ reports what was taken only once half of a queue
was; and SPARE more, so that messages which were not promised can be reported."""
TAKEN = 1000
"""Frames that are looked at in one go. Who floods this rank with frames that are dropped only delays it: it still
notices its deadline, and that it is to stop."""
PATIENCE = 0.02
"""Seconds that a send waits for ZeroMQ to release the oldest slot before it makes a new one."""
SHORT = {
    "ipc": "ipc://@netpart-{token}-{rank}",
    "tcp": "tcp://127.0.0.1:*",
    "inproc": "inproc://netpart-{token}-{rank}",
}
"""The address for a scheme given alone. The @ is Linux's abstract namespace, in which addresses are not files."""

_Socket = zmq.Socket[bytes]
T = TypeVar("T")


@dataclass
class _SendSlot:
    """A frame that is reused for many messages; it must not be written while ZeroMQ may still read it."""

    frame: memoryview
    tracker: zmq.MessageTracker | None = None

    def is_free(self, seconds: float) -> bool:
        """True once ZeroMQ has released the frame; waits for that at most ``seconds``."""
        if self.tracker is None or self.tracker.done:
            return True
        with suppress(zmq.NotDone):
            self.tracker.wait(seconds)
        return bool(self.tracker.done)


class ZeroMQTransport(Transport):
    """One rank of run ``run_id`` (8 bytes, secret: a frame that lacks it is dropped).

    Order of calls: ``expect`` for all that may arrive, ``bind``, ``connect`` once the peers' addresses are known, then
    ``send`` and ``receive``, ``close``. ``largest`` is the largest payload in bytes, needed if ``expect`` is called
    after ``bind``; ``linger`` is the seconds that ``close`` waits for frames to leave. inproc addresses need one
    ``context`` for all ranks. ``secret`` is how links are sealed: a link is, if that covers the receiver's address.
    ``dropped`` counts frames that are not of this run; ``last_dropped`` is the last reason.
    """

    def __init__(
        self,
        rank: int,
        run_id: bytes,
        *,
        largest: int = 0,
        linger: float = 1.0,
        context: zmq.Context[_Socket] | None = None,
        secret: WireSecret | None = None,
    ) -> None:
        super().__init__(rank)
        if len(run_id) != RUN_ID_BYTES:
            wanted = f"a run id of {RUN_ID_BYTES} bytes"
            raise TransportError(f"rank {rank}: expected {wanted}, got {len(run_id)}; pass one of that length")
        self._run_id = run_id
        self._largest = largest
        self._linger = int(linger * 1000)
        self._context = context or zmq.Context()
        self._own_context = context is None
        self._links = LinkGuard(rank, run_id, secret)
        self.opens_frames = secret is not None and secret.cipher == AES_GCM
        self._sealers: dict[int, LinkSealer | None] = {}
        self._opener: FrameOpener | None = None
        self._pushes: dict[int, _Socket] = {}
        self._slots: dict[int, deque[_SendSlot]] = {}
        self._pull: _Socket | None = None
        self._watch: LinkWatch | None = None
        self.address = ""
        self.dropped = 0
        self.last_dropped = ""

    def bind(self, address: str = "ipc") -> str:
        """Start to receive and return the address that peers connect to.

        ``address``: "ipc", "tcp" (loopback, a free port), "inproc", or in full, as "tcp://10.0.0.3:*". Raises
        TransportError if it cannot be bound.
        """
        self.mailbox.limit = max(self._largest, self.mailbox.largest)
        token = secrets.token_hex(8)
        wanted = SHORT.get(address, address).format(token=token, rank=self.rank)
        largest = HEADER.size + self.mailbox.limit + SLACK
        queue = QUEUES * self.mailbox.ahead + SPARE
        pull = self._socket(zmq.PULL, wanted, largest, queue)
        self.cipher = self._links.cipher(wanted)
        self._opener = self._links.opener(self.mailbox, wanted)
        self._links.guard(self._context, pull, wanted)
        self.address = self._open(pull, bind_socket, wanted)
        self._pull = pull
        return self.address

    def connect(self, addresses: Mapping[int, str]) -> None:
        """Connect to the peers that this rank sends to, given what their ``bind`` returned; they need not run yet.

        Raises TransportError for an invalid address, or a peer that was connected before.
        """
        for peer, address in addresses.items():
            if peer in self._pushes:
                wanted = f"one address of rank {peer}"
                raise TransportError(f"rank {self.rank}: expected {wanted}, got {address} as well; connect once to it")
            push = self._socket(zmq.PUSH, address, HANDSHAKE_BYTES, 0)
            self._links.introduce(push, peer, address)
            if self._watch is not None and address.startswith("tcp:"):
                self._watch.add(peer, push, address)  # the monitor must be there before the first event
            self._open(push, connect_socket, address)
            self._pushes[peer] = push
            self._sealers[peer] = self._links.sealer(peer, address)

    def watch_links(self) -> None:
        self._watch = LinkWatch()

    def lost_link(self) -> LostLink | None:
        return self._watch.lost(monotonic()) if self._watch is not None else None

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        self.mailbox.check()
        if peer not in self._pushes:
            raise self._stranger(peer)
        header = FrameHeader(self.rank, channel, step, array.dtype, array.shape)
        sealer = self._sealers[peer]
        extra = HEADER.size + (TAG_BYTES if sealer else 0)
        slot = self._slot(extra + array.nbytes)
        if sealer:
            sealer.seal(slot.frame, header, array)
        else:
            slot.frame[: HEADER.size] = pack_header(header, self._run_id)
            np.copyto(frame_payload(slot.frame, header), array)
        slot.tracker = self._pushes[peer].send(slot.frame, copy=False, track=True)
        self._count(channel, array.nbytes, extra)

    def close(self) -> None:
        self.mailbox.close()
        if self._pull is not None:
            self._pull.close(0)
            self._pull = None
        for peer, push in self._pushes.items():
            if self._watch is not None:
                self._watch.remove(peer, push)
            push.close(self._linger)
        self._pushes.clear()
        self._slots.clear()
        self._sealers.clear()
        self._opener = None
        if self._own_context:
            self._context.term()

    def abandon(self) -> None:
        self._linger = 0  # a peer that is gone would take nothing, and ``close`` would wait for it
        self.close()

    def _slot(self, nbytes: int) -> _SendSlot:
        """The oldest slot for a frame of ``nbytes``, or a new one; all channels share the slots of one size.

        As senders await receivers, few slots suffice and this seldom waits: ZeroMQ has released the oldest one, or is
        about to.
        """
        slots = self._slots.setdefault(nbytes, deque())
        if slots and slots[0].is_free(PATIENCE if len(slots) > WINDOW else 0):
            slot = slots.popleft()
        else:
            slot = _SendSlot(memoryview(bytearray(nbytes)))
        slots.append(slot)
        return slot

    def _socket(self, kind: int, address: str, largest: int, queue: int) -> _Socket:
        socket = limited_socket(self._context, kind, largest, queue)
        socket.setsockopt(zmq.LINGER, self._linger)
        if address.startswith("tcp:"):
            socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT)
            socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, LOST)
        return socket

    def _open(self, socket: _Socket, how: Callable[[_Socket, str], T], address: str) -> T:
        try:
            return how(socket, address)
        except zmq.ZMQError as error:
            socket.close(0)
            hint = "check that the host is this one and the port is free"
            raise TransportError(f"rank {self.rank}: expected {address} to be usable, got {error}; {hint}") from None

    def _take_in(self) -> None:
        """Move what has come into the mailbox, at most ``TAKEN`` frames."""
        pull = self._pull
        for _ in range(TAKEN):
            if pull is None or not cast(int, pull.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
                return
            self._arrived(pull.recv(zmq.NOBLOCK, copy=False).buffer)

    def _listen(self, seconds: float) -> bool:
        if self._pull is None:
            return False
        self._pull.poll(ceil(seconds * 1000))
        return True

    def _arrived(self, frame: memoryview) -> None:
        try:
            header, array = self._read_frame(frame)
        except ForeignFrame as error:
            self.dropped = self.dropped + 1
            self.last_dropped = str(error)
            self._refuse(error.peer if isinstance(error, RefusedFrame) else NOBODY, self.last_dropped)
        except TransportError as error:
            self.mailbox.fail(f"rank {self.rank}: {error}")
        else:
            if self.mailbox.accepts(header):
                self.mailbox.put(header, array)

    def _read_frame(self, frame: memoryview) -> tuple[FrameHeader, Array]:
        """The header and the tensor of a frame. Raises ForeignFrame, or TransportError for a broken frame."""
        if self._opener:
            return self._opener.open(frame)
        header = read_frame_header(frame, self._run_id)
        return header, frame_payload(frame, header)


def open_transport(endpoint: Endpoint) -> ZeroMQTransport:
    """The transport of one worker."""
    return ZeroMQTransport(endpoint.rank, endpoint.run_id, secret=endpoint.secret)
