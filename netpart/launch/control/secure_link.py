"""Secure links over tcp: encrypted for the holders of the run's token, and quickly detected as lost.

The coordinator has a CURVE key pair. ZeroMQ's handshake reveals nothing of it. The handshake succeeds only with a
client that knows the public half, so other processes can neither send nor receive; and only with a coordinator that has
the secret half. If netpart makes the token, the pair is random and the token includes its public half: a holder of the
token can join, but cannot impersonate the coordinator. If the user made the token, the pair is derived from it.
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
"""Period of ZeroMQ's own heartbeat, which its threads answer whatever the program does; and the silence after which a
link is cut."""
OPEN_SECONDS = 3.0
"""How long a connection may take to open, given that another one has opened just before."""
GRACE_SECONDS = 0.5
"""A coordinator that ends closes its links. Its last message is still read within this time."""
FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
CLOSED = (errno.EPIPE, errno.ECONNRESET)
"""How a handshake fails if the other side has another key. A handshake that merely takes too long is tried again."""


def coordinator_keys(token: RunToken | None) -> tuple[RunToken, bytes]:
    """The token of a run, with the coordinator's public key, and the coordinator's secret key.

    Both are random if no token is given; else the keys are derived from the token.
    """
    if token is None:
        public, secret = zmq.curve_keypair()
        return RunToken(token_bytes(BYTES), decode(public)), secret
    public, secret = derive_key_pair(token.secret)
    return RunToken(token.secret, decode(public)), secret


def derive_key_pair(secret: bytes) -> tuple[bytes, bytes]:
    """The coordinator's public and secret key, derived from a token that the user made."""
    key = encode(blake2b(secret, digest_size=32, person=b"netpart control").digest())
    return zmq.curve_public(key), key


def public_key(token: RunToken) -> bytes:
    """The coordinator's public key, as the holder of ``token`` knows it."""
    return token.key or decode(derive_key_pair(token.secret)[0])


def secure_server(socket: zmq.Socket[Any], secret: bytes) -> None:
    """Make ``socket`` accept only clients that know the public half of the key ``secret``. Call before it is bound."""
    socket.curve_secretkey = secret
    socket.curve_server = True
    _enable_heartbeat(socket)


def secure_client(socket: zmq.Socket[Any], token: RunToken) -> None:
    """Make ``socket`` accept only the coordinator of ``token``. Call before it connects."""
    # CURVE needs a key pair of the client too. A random one is enough, as the ticket identifies the worker.
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    socket.curve_serverkey = encode(public_key(token))
    _enable_heartbeat(socket)


def _enable_heartbeat(socket: zmq.Socket[Any]) -> None:
    """Turn on ZeroMQ's heartbeat."""
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENT_MS)


class LinkMonitor:
    """Monitor of the connection of a client's ``socket`` from ``now`` on. Create it before the socket connects; one
    thread at a time may use it.

    A lost link stays lost, although ZeroMQ reconnects: messages sent meanwhile are gone. ``refused`` is True once the
    other side has rejected the token.
    """

    def __init__(self, socket: zmq.Socket[Any], now: float) -> None:
        self.socket = socket
        self.opened = False
        self.refused = False
        self.monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | FAILED)
        self.lost_at = now + OPEN_SECONDS

    def look(self, now: float) -> bool:
        """Process the events so far; True if the link is lost at ``now``."""
        from zmq.utils.monitor import recv_monitor_message  # imports asyncio, which workers of one host do not need

        while self.monitor.poll(0):
            found = recv_monitor_message(self.monitor)
            event = found["event"]
            self.refused = self.refused or _is_key_refusal(event, found["value"])
            if event != zmq.EVENT_HANDSHAKE_SUCCEEDED:
                # Once set, this deadline is never moved back: a reconnect must not hide that messages were lost.
                self.lost_at = min(self.lost_at, now + GRACE_SECONDS)
            elif not self.opened:
                self.opened = True
                self.lost_at = math.inf
        return now > self.lost_at

    def close(self) -> None:
        """End the monitoring, before the socket is closed."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)


def _is_key_refusal(event: int, value: int) -> bool:
    """True for a monitor event that shows that the other side has another key, or another token."""
    without_detail = event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    return bool(event & FAILED) and (not without_detail or value in CLOSED)
