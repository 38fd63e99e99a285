"""The end of a context has a deadline: a socket that stays open does not keep the caller."""

from __future__ import annotations

import threading
from typing import Any

import zmq

from netpart.launch.control.context_end import end_context


def test_a_context_without_sockets_ends() -> None:
    context: zmq.Context[Any] = zmq.Context()
    context.socket(zmq.PAIR).close(linger=0)
    assert end_context(context)
    assert context.closed


def test_an_open_socket_is_waited_for_until_the_deadline() -> None:
    context: zmq.Context[Any] = zmq.Context()
    left = context.socket(zmq.PAIR)
    before = set(threading.enumerate())
    assert not end_context(context, 0.05)
    (ending,) = set(threading.enumerate()) - before
    assert ending.daemon
    left.close(linger=0)
    ending.join(10)
    assert context.closed
