"""RegionService: a thread of a worker process that keeps regions for others, sends its own to a buddy, and answers who
asks for regions.

    PUT   ranges of bytes of the regions that were announced, in order     -> TAKEN, bytes so far
                                                                           -> LATER, from a team that is not begun here
    GET   boxes of a snapshot                                              -> GIVEN, their elements
                                                                           -> REFUSED, why

A message that is forged, stale or garbled changes nothing; it is counted and, if it can be, refused. A buddy that is
gone never holds up a step: what is sent to it has a deadline.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import zmq

from netpart.errors import NetpartError, TransportError
from netpart.launch.snapshots.outgoing import Outgoing
from netpart.launch.snapshots.region_link import (
    CHUNK_BYTES,
    FRAME_BYTES,
    QUEUE,
    RegionLink,
    pack_region_message,
    unpack_region_message,
)
from netpart.launch.snapshots.region_secret import ANSWER, REQUEST, RegionOpener, RegionSealer, RegionSecret
from netpart.launch.snapshots.regions import Generation, RegionName, decode_region
from netpart.launch.snapshots.store import SnapshotStore
from netpart.proto.control_pb2 import RegionHeadProto
from netpart.spec import relative_slices
from netpart.transport.sockets import Socket, bind_socket, limited_socket

IPC = "ipc://@netpart-regions-{}"
WAKE = "inproc://netpart-regions-wake-{}"
SEND_SECONDS = 30.0
"""How long a buddy may take to confirm a snapshot."""
LONGEST_WAIT = 0.5


@dataclass(frozen=True)
class SentSnapshot:
    """What became of a snapshot that was sent; ``failed`` is "" if the buddy has all of it."""

    generation: Generation
    failed: str


class RegionService:
    """Serves ``store``, to holders of ``secret`` only. ``refused`` counts messages that changed nothing, and
    ``last_refusal`` has the reason of the latest one."""

    def __init__(self, store: SnapshotStore, secret: RegionSecret) -> None:
        self.store = store
        self.secret = secret
        self.context: zmq.Context[Any] = zmq.Context()
        self.address = ""
        self.refused, self.last_refusal = 0, ""
        self._team, self._taken = -1, dict[int, list[RegionName]]()
        self._orders: deque[tuple[str, Generation, Sequence[RegionName], int]] = deque()
        self._sent: deque[SentSnapshot] = deque()
        self._wake_address = WAKE.format(secrets.token_hex(8))
        self._ended = threading.Event()
        self._link: RegionLink | None = None
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run_thread, name="netpart-regions", daemon=True)

    def bind(self, address: str = "ipc") -> str:
        """Listen at ``address``, "ipc" or tcp://HOST:*, and start to serve; return the address for others.

        Raises TransportError if this host cannot listen there.
        """
        wanted = IPC.format(secrets.token_hex(8)) if address == "ipc" else address
        self._router: Socket = limited_socket(self.context, zmq.ROUTER, FRAME_BYTES, QUEUE)
        self.secret.guard(self.context, self._router, wanted)
        try:
            self.address = bind_socket(self._router, wanted)
        except zmq.ZMQError as error:
            self._router.close(0)
            hint = "check that the host is this one"
            raise TransportError(f"region service: expected {wanted} to be usable, got {error}; {hint}") from None
        sealed = self.secret.seals(self.address)
        self._opener = RegionOpener(self.secret, REQUEST, self.address) if sealed else None
        self._sealer = RegionSealer(self.secret, ANSWER, self.address) if sealed else None
        self._bell: Socket = limited_socket(self.context, zmq.PAIR, 16)
        self._bell.bind(self._wake_address)
        self._ring: Socket = limited_socket(self.context, zmq.PAIR, 16)
        self._ring.connect(self._wake_address)
        self._thread.start()
        return self.address

    def enter(self, team: int, taken: dict[int, list[RegionName]]) -> None:
        """Take regions of team ``team`` only, and only those that each sender was announced to send."""
        with self.store.lock:
            self._team, self._taken = team, taken
            self._orders.clear()
            self._sent.clear()

    def send(self, address: str, generation: Generation, names: Sequence[RegionName], sender: int) -> None:
        """Send whole regions of the store to the service at ``address``, in the background. ``sent`` has the end."""
        self._orders.append((address, generation, names, sender))
        self._ring.send(b"")

    def sent(self) -> SentSnapshot | None:
        """The next snapshot of this team whose sending has ended, if any. Raises TransportError if the thread of the
        service has failed: nothing would be sent any more."""
        if self._failure is not None:
            raise TransportError(f"region service: {self._failure}") from self._failure
        return self._sent.popleft() if self._sent else None

    def close(self) -> None:
        """End the thread and close all sockets."""
        self._ended.set()
        if self._thread.ident is not None:
            self._ring.send(b"")
            self._thread.join()
            self._ring.close(0)
        self.context.term()

    def _run_thread(self) -> None:
        """Serve until the end. Whatever happens, no socket stays open: the end of the context would wait for it."""
        try:
            self._serve()
        except Exception as error:
            self._failure = error
        finally:
            for socket in (self._router, self._bell, *([self._link.socket] if self._link else ())):
                socket.close(0)

    def _serve(self) -> None:
        poller = zmq.Poller()
        for socket in (self._router, self._bell):
            poller.register(socket, zmq.POLLIN)
        outgoing: Outgoing | None = None
        while not self._ended.is_set():
            wait = outgoing.look(monotonic()) if outgoing else LONGEST_WAIT
            if outgoing and (outgoing.done or outgoing.failed):
                self._note_sent(outgoing)
                outgoing, wait = None, 0.0
            if outgoing is None and self._orders:
                outgoing = self._take_order(poller)
                continue
            ready = dict(poller.poll(int(1000 * min(wait, LONGEST_WAIT)) + (wait > 0)))
            if self._bell in ready:
                self._bell.recv()
            if self._router in ready:
                self._answer(self._router.recv_multipart(copy=False))
            link = self._link
            if link and link.socket in ready and (answer := _receive_answer(link)) and outgoing:
                outgoing.hear(answer, monotonic())

    def _take_order(self, poller: zmq.Poller) -> Outgoing | None:
        """Begin the next snapshot that is to be sent, over the link of the last one if that leads there."""
        with self.store.lock:
            if not self._orders:
                return None
            address, generation, names, sender = self._orders.popleft()
        if self._link is not None and self._link.address != address:
            poller.unregister(self._link.socket)
            self._link.close()
            self._link = None
        if self._link is None:
            self._link = RegionLink(self.context, address, self.secret)
            poller.register(self._link.socket, zmq.POLLIN)
        return Outgoing(self._link, self.store, generation, names, sender, SEND_SECONDS)

    def _note_sent(self, outgoing: Outgoing) -> None:
        with self.store.lock:
            if outgoing.generation.team == self._team:
                self._sent.append(SentSnapshot(outgoing.generation, outgoing.failed))

    def _answer(self, parts: list[zmq.Frame]) -> None:
        """Answer a message of anyone who knows the secret."""
        name, *rest = (part.buffer for part in parts)
        number = 0
        try:
            head, payload = unpack_region_message(self._opener, rest)
            number = head.number
            answer, data = self._reply(head, payload)
        except (NetpartError, ValueError, LookupError, OverflowError) as error:
            self.refused, self.last_refusal = self.refused + 1, str(error)
            answer, data = RegionHeadProto(verb=RegionHeadProto.REFUSED, reason=str(error)[:200]), b""
        answer.number = number
        try:
            self._router.send_multipart([name, *pack_region_message(self._sealer, answer, data)], zmq.NOBLOCK)
        except zmq.ZMQError:
            return  # who asked is gone, or reads nothing: its own deadline shows it

    def _reply(self, head: RegionHeadProto, payload: memoryview) -> tuple[RegionHeadProto, bytes]:
        generation = Generation(head.team, head.step)
        if head.verb == RegionHeadProto.PUT and head.team > self._team:
            return RegionHeadProto(verb=RegionHeadProto.LATER), b""
        if head.verb == RegionHeadProto.PUT:
            taken = self._put(generation, head, payload)
            return RegionHeadProto(verb=RegionHeadProto.TAKEN, taken=taken), b""
        if head.verb == RegionHeadProto.GET:
            return RegionHeadProto(verb=RegionHeadProto.GIVEN), self._get(generation, head)
        raise TransportError(f"expected a request, got verb {head.verb}")

    def _put(self, generation: Generation, head: RegionHeadProto, payload: memoryview) -> int:
        """Keep bytes of a snapshot; return how many of this sender's are here. All is checked before any byte is."""
        with self.store.lock:
            if generation.team != self._team or head.sender not in self._taken:
                raise TransportError(
                    f"expected a snapshot of team {self._team}, got {generation} of rank {head.sender}"
                )
            names = self._taken[head.sender]
            if any(b.region < 0 for b in head.bytes) or sum(b.count for b in head.bytes) != len(payload):
                raise TransportError(f"expected ranges of {len(payload)} bytes, got others")
            ranges = [(names[b.region], b.start, b.count) for b in head.bytes]
            self.store.expect(generation, ranges)
            if head.committed >= 0:  # the sender takes a snapshot only after it has heard of the last commit
                self.store.commit(Generation(generation.team, head.committed))
            self.store.begin(generation)
            at = 0
            for name, start, count in ranges:
                self.store.fill(generation, name, start, payload[at : at + count])
                at += count
            return self.store.filled_bytes(generation, names)

    def _get(self, generation: Generation, head: RegionHeadProto) -> bytes:
        """The elements of the boxes that ``head`` asks for, one after another."""
        wanted = [decode_region(box) for box in head.box]
        if (total := sum(each.nbytes for each in wanted)) > CHUNK_BYTES:
            raise TransportError(f"expected boxes of at most {CHUNK_BYTES} bytes, got {total}")
        with self.store.lock:
            return b"".join(_copy_box(self.store, generation, each) for each in wanted)


def _receive_answer(link: RegionLink) -> RegionHeadProto | None:
    """The head of the next answer. None if nothing has arrived, and if what arrived is not an answer."""
    try:
        answer = link.receive()
    except TransportError:
        return None
    return answer[0] if answer else None


def _copy_box(store: SnapshotStore, generation: Generation, wanted: RegionName) -> bytes:
    """The elements of a box, row by row. Raises TransportError if no kept region contains it."""
    array = store.find(generation, wanted)
    if array is None:
        raise TransportError(f"expected {wanted.kind} {wanted.name!r:.80} {wanted.box} of {generation} here, got none")
    name, values = array
    return np.ascontiguousarray(values[relative_slices(wanted.box, name.box)]).tobytes()
