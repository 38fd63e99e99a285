"""Every socket of netpart is made here, with its limits: no peer makes this process hold more than was agreed.

| limit | what it bounds |
|---|---|
| ``largest`` bytes a frame, also those of the handshake | a frame that is announced larger ends its connection |
| ``queue`` messages a connection, each way | who sends more waits in TCP, or in the kernel |
| HANDSHAKE_MS | a connection that stays silent, or does not show its key, is closed |
| BACKLOG connections that wait to be accepted | strangers that come all at once do not crowd out a worker |
| the user, on ipc | an address in the abstract namespace has no owner: the kernel says who connects |

How many frames a message has cannot be limited, so nobody gets so far as to send a message before he has shown a
secret: over tcp a CURVE key (launch/control/secure_link.py) or a password (``require_password``), on ipc his user.
"""

from __future__ import annotations

import ctypes
import os
from hmac import compare_digest
from threading import Thread
from typing import Any

import zmq

Socket = zmq.Socket[bytes]

HANDSHAKE_MS = 5000
BACKLOG = 1024
QUEUE = 1000
"""Messages, where nothing else is known: ZeroMQ's own choice."""
HANDSHAKE_BYTES = 1 << 16
"""The largest frame of who only sends: the other side's part of the handshake."""
ZAP, NAME = "inproc://zeromq.zap.01", b"netpart"
"""Where ZeroMQ asks who may come in (its RFC 27), and the name under which a password is shown."""


def limited_socket(context: zmq.Context[Any], kind: int, largest: int, queue: int = QUEUE) -> Socket:
    """A socket of ``kind`` that takes frames of ``largest`` bytes.

    ``queue`` is how many messages of each connection may wait, 0 for any number.
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
    """Lets ``socket`` accept connections at ``address``; returns it with its port. Raises ZMQError."""
    socket.setsockopt(zmq.IPV6, int("[" in address))
    socket.bind(address)
    return socket.getsockopt_string(zmq.LAST_ENDPOINT)


def connect_socket(socket: Socket, address: str) -> None:
    """Lets ``socket`` go to ``address``. Raises ZMQError."""
    socket.setsockopt(zmq.IPV6, int("[" in address))
    socket.connect(address)


def show_password(socket: Socket, password: bytes) -> None:
    """Lets ``socket``, before it connects, show ``password``."""
    socket.plain_username = NAME
    socket.plain_password = password


def require_password(context: zmq.Context[Any], socket: Socket, password: bytes) -> None:
    """Lets ``socket``, before it is bound, accept nobody but who shows ``password``; once per context.

    The thread that looks at it sleeps until somebody connects, and ends with the context.
    """
    socket.plain_server = True
    socket.zap_domain = NAME  # its socket is the thread's alone to close, so it is one of a shadow
    door = limited_socket(zmq.Context.shadow(context), zmq.REP, HANDSHAKE_BYTES)
    door.bind(ZAP)
    Thread(target=_check_passwords, args=(door, password), name="netpart-door", daemon=True).start()


def _check_passwords(door: Socket, password: bytes) -> None:
    try:
        while True:
            version, request, _, _, _, _, *shown = door.recv_multipart()
            known = len(shown) == 2 and compare_digest(shown[1], password)
            door.send_multipart([version, request, b"200" if known else b"400", b"", b"", b""])
    except zmq.ContextTerminated:
        door.close(0)
