"""The worker's end of the control plane: one DEALER for its words, one more for its heartbeat.

    worker                          coordinator
    join                ──────▶                         from another host, under a name of its own
                        ◀──────     joined(rank)
    hello(token)        ──────▶
                        ◀──────     welcome(plan)
    ready(address, what it will send and receive)
                        ──────▶     rehearsal
                        ◀──────     go(addresses)
    beat, report, checkpoint_due, checkpoint_written, finished | failed  ──────▶
                        ◀──────     checkpoint_open, stop
    region_write | region_read  ──────▶                 from another host
                        ◀──────     region

Every socket carries an identity that is made of a secret: what comes under another one is no word of this run's
workers. Who asks to be a worker shows the run's token; each worker has a ticket of its own, which it gets with its rank
(seats.py). Over tcp both know the coordinator's key as well, and a worker whose link is lost is told by its heartbeat.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, cast

import zmq

from netpart.errors import NetpartError
from netpart.launch.control.address import is_tcp_address
from netpart.launch.control.framing import FRAME_BYTES, REFUSAL, pack_message, printable_text, unpack_message
from netpart.launch.control.seats import HEART, VOICE, socket_identity
from netpart.launch.control.secure_link import LinkMonitor, secure_client
from netpart.launch.control.token import RunToken
from netpart.proto.control_pb2 import ControlProto
from netpart.transport.sockets import connect_socket, limited_socket

BEAT_SECONDS = 0.25


class StopRequested(NetpartError):
    """The coordinator told this worker to stop."""


@dataclass
class WorkerStatus:
    """Where a worker is; its heartbeat says so. ``doing`` is asked by another thread, at any moment."""

    phase: str = ""
    step: int = 0
    doing: Callable[[], str] = lambda: "starting"


class ControlClient:
    """One worker's connection to the coordinator at ``address``. All methods are called by the worker's thread.

    ``ticket`` is what shows that it is worker ``rank``.

    Over tcp, ``lost`` is called by the heartbeat's thread when the link is lost; nothing that this worker could wait
    for comes any more.
    """

    def __init__(
        self,
        context: zmq.Context[Any],
        address: str,
        rank: int,
        ticket: RunToken,
        lost: Callable[[], None] | None = None,
    ) -> None:
        self.context = context
        self.address = address
        self.rank = rank
        self.ticket = ticket
        self.lost = lost
        self.status = WorkerStatus()
        self._socket, self._link = self._connect(VOICE)
        self._ended = threading.Event()
        self._beats = threading.Thread(target=self._beat, name=f"netpart-beat-{rank}", daemon=True)

    def hello(self) -> ControlProto:
        """Introduces this worker, starts its heartbeat and waits for the plan."""
        message = ControlProto()
        message.hello.rank = self.rank
        message.hello.pid = os.getpid()
        message.hello.token = self.ticket.secret
        self.send(message)
        self._beats.start()
        return self.receive("welcome")

    def send(self, message: ControlProto) -> None:
        """Sends ``message``; never waits."""
        self._socket.send_multipart(pack_message(message))

    def receive(self, wanted: str) -> ControlProto:
        """Waits for the next message, which must be ``wanted``. Raises Stopped if the coordinator says stop,
        NetpartError for anything else.

        It waits as long as it takes: a coordinator may have been suspended, and one that dies takes its workers along.
        """
        message = unpack_message(self._socket.recv_multipart())
        kind = message.WhichOneof("message")
        if kind == "joined":
            raise NetpartError(f"worker {self.rank}: {printable_text(message.joined.refused, REFUSAL)}")
        if kind == "stop":
            raise StopRequested(f"worker {self.rank}: stopped by the coordinator")
        if kind != wanted:
            raise NetpartError(f"worker {self.rank}: expected {wanted} from the coordinator, got {kind}")
        return message

    def check(self) -> None:
        """Raises Stopped if the coordinator wants this worker to end."""
        if cast(int, self._socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:  # a tenth of what a poll takes, every step
            self.receive("stop")

    def await_stop(self) -> None:
        """Waits until every worker has finished: until then a peer may still need what this one sent."""
        try:
            self.receive("stop")
        except StopRequested:
            return

    def close(self) -> None:
        """Ends the heartbeat and lets the last words leave."""
        self._ended.set()
        if self._beats.ident is not None:
            self._beats.join()
        if self._link:
            self._link.close()
        self._socket.close(linger=1000)

    def _beat(self) -> None:
        (socket, link) = self._connect(HEART)
        message = ControlProto()
        links = [link for link in (self._link, link) if link]
        while True:
            status = self.status
            message.beat.rank = self.rank
            message.beat.phase = status.phase
            message.beat.step = status.step
            message.beat.doing = status.doing()
            socket.send_multipart(pack_message(message))
            if self._ended.wait(BEAT_SECONDS):
                break
            lost = [link for link in links if link.look(monotonic())]
            if lost and self.lost:
                self.lost()
        if link:
            link.close()
        socket.close(linger=0)

    def _connect(self, which: bytes) -> tuple[zmq.Socket[bytes], LinkMonitor | None]:
        """One of this worker's sockets, and the watch over its link if somebody is to be told."""
        name = socket_identity(self.ticket.secret, self.rank, which)
        socket = make_dealer(self.context, self.address, self.ticket, name)
        link = LinkMonitor(socket, monotonic()) if self.lost and is_tcp_address(self.address) else None
        connect_socket(socket, self.address)
        return socket, link


def make_dealer(context: zmq.Context[Any], address: str, token: RunToken, name: bytes) -> zmq.Socket[bytes]:
    """A DEALER that is to be connected to ``address`` as ``name``; over tcp ``token`` says who must be there."""
    socket = limited_socket(context, zmq.DEALER, FRAME_BYTES)
    socket.setsockopt(zmq.IDENTITY, name)
    if is_tcp_address(address):
        secure_client(socket, token)
    return socket
