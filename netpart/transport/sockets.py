"""All sockets of netpart, made with limits: no peer can make this process hold more than was agreed.

| limit | effect |
|---|---|
| ``largest`` bytes a frame, also those of the handshake | a frame that is announced larger ends its connection |
| ``queue`` messages a connection, each way | further messages wait in TCP, or in the kernel |
| HANDSHAKE_MS | a connection that stays silent, or does not show its key, is closed |
| BACKLOG connections that wait to be accepted | many connections of strangers at once do not shut out a worker |
| the user, on ipc | an address in the abstract namespace has no owner: the kernel reports the user that connects |

The number of frames in a message cannot be limited. So no peer may send a message before it has shown a secret: over
tcp a CURVE key (launch/control/secure_link.py, ``require_curve_key``) or a password (``require_password``), on ipc its
user id.
"""

from __future__ import annotations

import ctypes
import os
import struct
from hmac import compare_digest
from threading import Thread
from typing import Any

import zmq
from zmq.utils.z85 import encode

Socket = zmq.Socket[bytes]

HANDSHAKE_MS = 5000
BACKLOG = 1024
QUEUE = 1000
"""The default number of messages, which is ZeroMQ's own."""
HANDSHAKE_BYTES = 1 << 16
"""The largest frame that a socket which only sends accepts: the other side's part of the handshake."""
EVENT = struct.Struct("=hi")
"""How ZeroMQ describes an event of a connection. Its own reader imports asyncio, which takes time at the start."""
ZAP, NAME = "inproc://zeromq.zap.01", b"netpart"
"""The address where ZeroMQ asks whether a peer may connect (its RFC 27), and the user name shown with a password."""


def limited_socket(context: zmq.Context[Any], kind: int, largest: int, queue: int = QUEUE) -> Socket:
    """A socket of ``kind`` that accepts frames of at most ``largest`` bytes.

    ``queue`` is the number of messages of each connection that may wait, 0 for no limit.
    """
    socket: Socket = context.socket(kind)
    socket.set_hwm(queue)
    for option, value in (
        (zmq.MAXMSGSIZE, largest), (zmq.HANDSHAKE_IVL, HANDSHAKE_MS), (zmq.BACKLOG, BACKLOG),
        (zmq.IPC_FILTER_UID, ctypes.c_int(os.geteuid()).value),
    ):  # fmt: skip
        socket.setsockopt(option, value)
    return socket


def bind_socket(socket: Socket, address: str) -> str:
    """Bind ``socket`` to ``address``; return the address with its port. Raises ZMQError if that fails."""
    socket.setsockopt(zmq.IPV6, int("[" in address))
    socket.bind(address)
    return socket.getsockopt_string(zmq.LAST_ENDPOINT)


def connect_socket(socket: Socket, address: str) -> None:
    """Connect ``socket`` to ``address``. Raises ZMQError for an invalid address."""
    socket.setsockopt(zmq.IPV6, int("[" in address))
    socket.connect(address)


def read_event(monitor: zmq.Socket[Any]) -> tuple[int, int]:
    """The kind and the value of the next event of a socket's monitor, which must be there."""
    kind, value = EVENT.unpack(monitor.recv_multipart()[0])
    return kind, value


def show_password(socket: Socket, password: bytes) -> None:
    """Make ``socket`` show ``password`` when it connects; to be called before it does."""
    socket.plain_username = NAME
    socket.plain_password = password


def require_curve_key(socket: Socket, secret: bytes) -> None:
    """Encrypt ``socket`` by CURVE with the key ``secret`` (32 bytes); to be called before it is bound.

    Only peers that know its public half can connect. Nobody can learn that from the handshake.
    """
    socket.curve_secretkey = encode(secret)
    socket.curve_server = True


def show_curve_key(socket: Socket, secret: bytes) -> None:
    """Connect ``socket`` only to the holder of the CURVE key ``secret``; to be called before it connects."""
    # CURVE needs a pair of the client too. A random one suffices: who knows the other's public key is of this run.
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    socket.curve_serverkey = zmq.curve_public(encode(secret))


def require_password(context: zmq.Context[Any], socket: Socket, password: bytes) -> None:
    """Make ``socket`` accept only peers that show ``password``; to be called before it is bound, once per context.

    The thread that checks passwords sleeps until a peer connects, and ends with the context.
    """
    socket.plain_server = True
    socket.zap_domain = NAME
    # Of a shadow context: the original one then never closes this socket, which only the thread may close.
    door = limited_socket(zmq.Context.shadow(context), zmq.REP, HANDSHAKE_BYTES)
    door.bind(ZAP)
    Thread(target=_check_passwords, args=(door, password), name="netpart-door", daemon=True).start()


def _check_passwords(door: Socket, password: bytes) -> None:
    try:
        while True:
            version, request, _, _, _, _, *shown = door.recv_multipart()
            # Takes the same time for every wrong password, so the time does not reveal how much of it is right.
            known = len(shown) == 2 and compare_digest(shown[1], password)
            door.send_multipart([version, request, b"200" if known else b"400", b"", b"", b""])
    except zmq.ContextTerminated:
        door.close(0)
