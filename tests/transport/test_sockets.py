"""Limits of sockets, seen by raw connections: frames that are too large, silence, another user."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import zmq

from netpart.launch.control.framing import FRAME_BYTES
from netpart.launch.control.secure_link import coordinator_keys, secure_server
from netpart.transport import sockets
from netpart.transport.sockets import bind_socket, connect_socket, limited_socket, require_password, show_password

DEADLINE, DEADLINE_MS = 30.0, 30_000
NOBODY = 65534
ANNOUNCED = 2 << 30
OFFERED = 64 << 20
BUFFERS = 16 << 20
"""Bytes that a frame is said to have, that are sent of it, and that kernel buffers may hold of these."""
PASSWORD = b"open"


@contextmanager
def server(mechanism: str, scheme: str) -> Iterator[str]:
    """The address of a socket that is made as those of runs are."""
    address = f"ipc://@netpart-test-{os.urandom(8).hex()}" if scheme == "ipc" else f"tcp://{scheme}:*"
    with zmq.Context() as context, limited_socket(context, zmq.ROUTER, FRAME_BYTES) as made:
        if mechanism == "CURVE":
            secure_server(made, coordinator_keys(None)[1])
        elif mechanism == "PLAIN":
            require_password(context, made, PASSWORD)
        yield bind_socket(made, address)


@contextmanager
def raw(address: str) -> Iterator[socket.socket]:
    """A connection without ZeroMQ."""
    if address.startswith("ipc:"):
        made, target = socket.socket(socket.AF_UNIX), "\0" + address.removeprefix("ipc://@")
    else:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        made, target = socket.socket(), (host, int(port))  # type: ignore[assignment]
    with made:
        made.settimeout(DEADLINE)
        made.connect(target)
        yield made


def greeting(mechanism: str) -> bytes:
    """What each side of ZMTP 3.1 says first."""
    return b"\xff" + bytes(8) + b"\x7f\x03\x01" + mechanism.encode().ljust(20, b"\0") + bytes(32)


def poured(connection: socket.socket, first: bytes) -> int:
    """How many bytes of a frame are taken before the connection is closed."""
    sent, more = 0, bytes(1 << 16)
    with suppress(ConnectionError):
        connection.sendall(first + ANNOUNCED.to_bytes(8, "big"))
        while sent < OFFERED:
            sent += connection.send(more)
    return sent


@pytest.mark.parametrize(
    ("mechanism", "scheme"), [("CURVE", "127.0.0.1"), ("PLAIN", "127.0.0.1"), ("NULL", "127.0.0.1"), ("NULL", "ipc")]
)
def test_a_frame_of_the_handshake_that_is_too_large_ends_the_connection(mechanism: str, scheme: str) -> None:
    with server(mechanism, scheme) as address, raw(address) as connection:
        assert poured(connection, greeting(mechanism) + b"\x06") < BUFFERS


def test_a_message_that_is_too_large_ends_the_connection() -> None:
    ready = b"\x04\x05\x05READY"[:1] + bytes([6]) + b"\x05READY"
    with server("NULL", "ipc") as address, raw(address) as connection:
        assert poured(connection, greeting("NULL") + ready + b"\x02") < BUFFERS


def test_who_stays_silent_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "HANDSHAKE_MS", 100)
    with server("CURVE", "127.0.0.1") as address, raw(address) as connection:
        connection.settimeout(10)  # ZeroMQ by itself waits for 30 s
        while connection.recv(64):
            pass


def test_another_user_of_the_host_is_not_heard() -> None:
    """The kernel says who connects; the connection is closed before a byte goes either way."""
    if os.geteuid() != 0:
        pytest.skip("only root can connect as somebody else")
    with server("NULL", "ipc") as address:
        with raw(address) as connection:
            assert connection.recv(1) == b"\xff"
        os.seteuid(NOBODY)
        try:
            with raw(address) as connection, suppress(ConnectionError):
                assert connection.recv(1) == b""
        finally:
            os.seteuid(0)


def test_a_password_lets_in_and_another_does_not() -> None:
    with zmq.Context() as context, limited_socket(context, zmq.PULL, FRAME_BYTES) as pull:
        require_password(context, pull, PASSWORD)
        address = bind_socket(pull, "tcp://127.0.0.1:*")
        for password in (b"shut", PASSWORD):
            with limited_socket(context, zmq.PUSH, FRAME_BYTES) as push:
                show_password(push, password)
                connect_socket(push, address)
                with suppress(zmq.Again):  # a refused connection may be gone by now: a send would wait
                    push.send(password, zmq.NOBLOCK)
                assert pull.poll(DEADLINE_MS if password == PASSWORD else 200) == (password == PASSWORD)
                push.close(0)
        assert pull.recv() == PASSWORD


def has_ipv6() -> str:
    """Why there is no loopback over IPv6; "" if there is."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        return f"this host has no ::1: {error}"
    return ""


def test_ipv6() -> None:
    if missing := has_ipv6():
        pytest.skip(missing)
    context: zmq.Context[Any]
    with (
        zmq.Context() as context,
        limited_socket(context, zmq.PULL, 99) as pull,
        limited_socket(context, zmq.PUSH, 99) as push,
    ):
        address = bind_socket(pull, "tcp://[::1]:*")
        assert address.startswith("tcp://[::1]:")
        connect_socket(push, address)
        push.send(b"hello")
        assert pull.poll(DEADLINE_MS)
