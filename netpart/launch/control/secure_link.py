"""Links over tcp: encrypted for whoever has the run's token, and known to be lost soon after they are.

The coordinator has a CURVE key pair. ZeroMQ's handshake shows nothing of it and succeeds only with a client that knows
the public half, so who does not can neither speak nor listen; and only with a coordinator that has the other half.
Where netpart makes the token, the pair is drawn for the run and the token carries its public half: who holds the token
can join, but not pretend to be the coordinator. The pair of a token that a person made is derived from it.
"""

from __future__ import annotations

import errno
import math
from hashlib import blake2b
from secrets import token_bytes
from typing import Any

import zmq
from zmq.utils.z85 import decode, encode

from netpart.launch.control.token import BYTES, RunToken

HEARTBEAT_MS, SILENT_MS = 500, 2000
"""ZeroMQ's own heartbeat, answered by its threads whatever their program does, and after what silence a link is cut."""
OPEN_SECONDS = 3.0
"""What a connection may take to open where one was open just before."""
GRACE_SECONDS = 0.5
"""A coordinator that ends closes its links; what it said last is read first."""
FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
CLOSED = (errno.EPIPE, errno.ECONNRESET)
"""How a handshake fails with somebody who has another key. One that merely takes too long is tried again."""


def coordinator_keys(token: RunToken | None) -> tuple[RunToken, bytes]:
    """The token of a run, which carries the coordinator's public key, and the secret key: both are drawn where no token
    is given, else the keys are derived from it."""
    if token is None:
        public, secret = zmq.curve_keypair()
        return RunToken(token_bytes(BYTES), decode(public)), secret
    public, secret = derive_key_pair(token.secret)
    return RunToken(token.secret, decode(public)), secret


def derive_key_pair(secret: bytes) -> tuple[bytes, bytes]:
    """The coordinator's public and secret key where a person made the token."""
    key = encode(blake2b(secret, digest_size=32, person=b"netpart control").digest())
    return zmq.curve_public(key), key


def public_key(token: RunToken) -> bytes:
    """The coordinator's public key, by which the holder of ``token`` knows it."""
    return token.key or decode(derive_key_pair(token.secret)[0])


def secure_server(socket: zmq.Socket[Any], secret: bytes) -> None:
    """Lets ``socket``, before it is bound, accept nobody but who knows the public half of key ``secret``."""
    socket.curve_secretkey = secret
    socket.curve_server = True
    _enable_heartbeat(socket)


def secure_client(socket: zmq.Socket[Any], token: RunToken) -> None:
    """Lets ``socket``, before it connects, find out whether the other side is the coordinator of ``token``."""
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    socket.curve_serverkey = encode(public_key(token))
    _enable_heartbeat(socket)


def _enable_heartbeat(socket: zmq.Socket[Any]) -> None:
    """Switches ZeroMQ's heartbeat on."""
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENT_MS)


class LinkMonitor:
    """Watches the connection of a client's ``socket`` from ``now`` on; made before it connects, used by any one thread.

    A link that was lost stays lost, though ZeroMQ connects anew: what was said meanwhile is gone. ``refused`` is True
    once the other side did not accept the token.
    """

    def __init__(self, socket: zmq.Socket[Any], now: float) -> None:
        self.socket = socket
        self.opened = False
        self.refused = False
        self.monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | FAILED)
        self.lost_at = now + OPEN_SECONDS

    def look(self, now: float) -> bool:
        """Takes in what has happened; True if the link is lost at ``now``."""
        from zmq.utils.monitor import recv_monitor_message  # brings asyncio, which workers of one host start without

        while self.monitor.poll(0):
            found = recv_monitor_message(self.monitor)
            event = found["event"]
            self.refused = self.refused or _is_key_refusal(event, found["value"])
            if event != zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.lost_at = min(self.lost_at, now + GRACE_SECONDS)
            elif not self.opened:
                self.opened = True
                self.lost_at = math.inf
        return now > self.lost_at

    def close(self) -> None:
        """Ends the watch, before the socket is closed."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)


def _is_key_refusal(event: int, value: int) -> bool:
    """True for an event of a monitor that says that the other side has another key, or another token."""
    without_detail = event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    return bool(event & FAILED) and (not without_detail or value in CLOSED)
