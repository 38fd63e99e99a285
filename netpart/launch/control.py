"""The worker's end of the control plane: one DEALER for its words, one more for its heartbeat.

    worker                          coordinator
    hello(token)        ──────▶
                        ◀──────     welcome(plan)
    ready(address)      ──────▶
                        ◀──────     go(addresses)
    beat, report, checkpoint_due, checkpoint_written, finished | failed  ──────▶
                        ◀──────     checkpoint_open, stop
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

import zmq

from netpart.errors import NetpartError
from netpart.proto.control_pb2 import ControlProto

BEAT_SECONDS = 0.5


class Stopped(NetpartError):
    """The coordinator told this worker to stop."""


@dataclass
class Status:
    """Where a worker is; its heartbeat says so."""

    phase: str = "start"
    step: int = 0
    doing: str = "starting"


class Control:
    """One worker's connection to the coordinator at ``address``. All methods are called by the worker's thread."""

    def __init__(self, context: zmq.Context[Any], address: str, rank: int, token: bytes) -> None:
        self.rank, self.token, self.status = rank, token, Status()
        self._socket = dealer(context, address)
        self._ended = threading.Event()
        self._beats = threading.Thread(target=self._beat, args=(dealer(context, address),), daemon=True)

    def hello(self, seconds: float) -> ControlProto:
        """Introduces this worker, starts its heartbeat and waits for the plan."""
        message = ControlProto()
        message.hello.rank, message.hello.pid, message.hello.token = self.rank, os.getpid(), self.token
        self.send(message)
        self._beats.start()
        return self.receive(seconds, "welcome")

    def send(self, message: ControlProto) -> None:
        """Sends ``message``; never waits."""
        self._socket.send(message.SerializeToString())

    def receive(self, seconds: float, wanted: str) -> ControlProto:
        """The next message, which must be ``wanted``. Raises Stopped, or NetpartError when none comes in time."""
        if not self._socket.poll(int(seconds * 1000)):
            raise NetpartError(f"worker {self.rank}: expected {wanted} from the coordinator, got nothing in {seconds:g} s")
        message = ControlProto.FromString(self._socket.recv())
        kind = message.WhichOneof("message")
        if kind == "stop":
            raise Stopped(f"worker {self.rank}: stopped by the coordinator")
        if kind != wanted:
            raise NetpartError(f"worker {self.rank}: expected {wanted} from the coordinator, got {kind}")
        return message

    def check(self) -> None:
        """Raises Stopped if the coordinator wants this worker to end."""
        if self._socket.poll(0):
            self.receive(0, "stop")

    def await_stop(self, seconds: float) -> None:
        """Waits until every worker has finished: until then a peer may still need what this one sent."""
        try:
            self.receive(seconds, "stop")
        except Stopped:
            return

    def close(self) -> None:
        """Ends the heartbeat and lets the last words leave."""
        self._ended.set()
        if self._beats.is_alive():
            self._beats.join()
        self._socket.close(linger=1000)

    def _beat(self, socket: zmq.Socket[bytes]) -> None:
        message = ControlProto()
        while not self._ended.wait(BEAT_SECONDS):
            message.beat.rank, message.beat.phase = self.rank, self.status.phase
            message.beat.step, message.beat.doing = self.status.step, self.status.doing
            socket.send(message.SerializeToString())
        socket.close(linger=0)


def dealer(context: zmq.Context[Any], address: str) -> zmq.Socket[bytes]:
    """A DEALER connected to the coordinator."""
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    socket.connect(address)
    return socket
