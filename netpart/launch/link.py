"""Links over tcp: encrypted for whoever has the run's token, and known to be lost soon after they are.

Both ends make the same CURVE key pair of the token. ZeroMQ's handshake shows nothing of it and succeeds only with a
client that knows the coordinator's public key, so who has no token can neither speak nor listen.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any

import zmq
from zmq.utils.z85 import encode

HEARTBEAT_MS, SILENT_MS = 500, 2000
"""ZeroMQ's own heartbeat, answered by its threads whatever their program does, and after what silence a link is cut."""
OPEN_SECONDS = 3.0
"""What a connection may take to open where one was open just before."""
GRACE_SECONDS = 0.5
"""A coordinator that ends closes its links; what it said last is read first."""
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH


def is_tcp(address: str) -> bool:
    """True for an address that other hosts may reach, whose links are secured and watched."""
    return address.startswith("tcp:")


def secure_server(socket: zmq.Socket[Any], token: bytes) -> None:
    """Lets ``socket``, before it is bound, accept nobody but holders of ``token``."""
    _, socket.curve_secretkey = keys(token)
    socket.curve_server = True
    beat(socket)


def secure_client(socket: zmq.Socket[Any], token: bytes) -> None:
    """Lets ``socket``, before it connects, show that it holds ``token``."""
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    socket.curve_serverkey, _ = keys(token)
    beat(socket)


def keys(token: bytes) -> tuple[bytes, bytes]:
    """The coordinator's public and secret key."""
    secret = encode(blake2b(token, digest_size=32, person=b"netpart control").digest())
    return zmq.curve_public(secret), secret


def beat(socket: zmq.Socket[Any]) -> None:
    """Switches ZeroMQ's heartbeat on."""
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENT_MS)


class Link:
    """Watches the connection of a client's ``socket`` from ``now`` on; made before it connects, used by any one thread.

    A link that was lost stays lost, though ZeroMQ connects anew: what was said meanwhile is gone. ``refused`` is True
    once the other side did not accept the token.
    """

    def __init__(self, socket: zmq.Socket[Any], now: float) -> None:
        self.socket, self.opened, self.refused = socket, False, False
        self.monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | REFUSED)
        self.lost_at = now + OPEN_SECONDS

    def look(self, now: float) -> bool:
        """Takes in what has happened; True if the link is lost at ``now``."""
        from zmq.utils.monitor import recv_monitor_message  # brings asyncio, which workers of one host start without

        while self.monitor.poll(0):
            event = recv_monitor_message(self.monitor)["event"]
            self.refused = self.refused or bool(event & REFUSED)
            if event != zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.lost_at = min(self.lost_at, now + GRACE_SECONDS)
            elif not self.opened:
                self.opened, self.lost_at = True, math.inf
        return now > self.lost_at

    def close(self) -> None:
        """Ends the watch, before the socket is closed."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
