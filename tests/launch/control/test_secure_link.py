"""Links over tcp: who has the token is heard, who has not is refused, and a coordinator that ends is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from time import monotonic
from typing import Any

import pytest
import zmq

from netpart.launch.control.secure_link import (
    GRACE_SECONDS,
    OPEN_SECONDS,
    LinkMonitor,
    coordinator_keys,
    derive_key_pair,
    secure_server,
)
from netpart.launch.control.token import RunToken
from netpart.launch.member.control_client import ControlClient, make_dealer
from netpart.proto.control_pb2 import ControlProto

TOKEN, OTHER = RunToken(b"t" * 16), RunToken(b"o" * 16)
DEADLINE, DEADLINE_MS = 30.0, 30_000


@pytest.fixture
def context() -> Iterator[zmq.Context[Any]]:
    with zmq.Context() as context:
        yield context


@pytest.fixture
def router(context: zmq.Context[Any]) -> Iterator[zmq.Socket[bytes]]:
    with context.socket(zmq.ROUTER) as router:
        secure_server(router, derive_key_pair(TOKEN.secret)[1])
        router.bind("tcp://127.0.0.1:*")
        yield router


@pytest.fixture
def call(context: zmq.Context[Any], router: zmq.Socket[bytes]) -> Iterator[Callable[[RunToken], LinkMonitor]]:
    """Connects with a token, says something, and returns the link."""
    links: list[LinkMonitor] = []

    def call(token: RunToken) -> LinkMonitor:
        address = router.getsockopt_string(zmq.LAST_ENDPOINT)
        socket = make_dealer(context, address, token, b"me")
        links.append(LinkMonitor(socket, monotonic()))
        socket.connect(address)
        socket.send(b"hello")
        return links[-1]

    yield call
    for link in links:
        link.close()
        link.socket.close(0)


def until(true: Callable[[], bool], link: LinkMonitor) -> None:
    """Waits for the next events of a link until something is true."""
    end = monotonic() + DEADLINE
    while not true():
        assert monotonic() < end
        link.monitor.poll(50)


def test_who_has_the_token_is_heard(router: zmq.Socket[bytes], call: Callable[[RunToken], LinkMonitor]) -> None:
    link = call(TOKEN)
    assert router.poll(DEADLINE_MS)
    assert router.recv_multipart() == [b"me", b"hello"]
    until(lambda: link.look(0.0) or link.opened, link)
    assert not link.look(monotonic() + 1e6)
    assert not link.refused


def test_who_has_another_one_is_refused_and_not_heard(
    router: zmq.Socket[bytes], call: Callable[[RunToken], LinkMonitor]
) -> None:
    link = call(OTHER)
    until(lambda: link.look(0.0) or link.refused, link)
    assert not router.poll(100)


def test_who_has_the_token_alone_is_not_taken_for_the_coordinator(
    router: zmq.Socket[bytes], call: Callable[[RunToken], LinkMonitor]
) -> None:
    """The router has all that can be made of the token; the worker knows the key that the coordinator drew."""
    drawn, _ = coordinator_keys(None)
    link = call(RunToken(TOKEN.secret, drawn.key))
    until(lambda: link.look(0.0) or link.refused, link)
    assert not router.poll(100)


def test_a_drawn_key_is_accepted(
    context: zmq.Context[Any], router: zmq.Socket[bytes], call: Callable[[RunToken], LinkMonitor]
) -> None:
    token, secret = coordinator_keys(None)
    router.unbind(router.getsockopt_string(zmq.LAST_ENDPOINT))
    secure_server(router, secret)
    router.bind("tcp://127.0.0.1:*")
    link = call(token)
    assert router.poll(DEADLINE_MS)
    until(lambda: link.look(0.0) or link.opened, link)


def test_a_coordinator_that_ends_is_missed_after_a_moment(
    router: zmq.Socket[bytes], call: Callable[[RunToken], LinkMonitor]
) -> None:
    link = call(TOKEN)
    until(lambda: link.look(0.0) or link.opened, link)
    router.close(0)
    until(lambda: link.look(0.0) or link.lost_at < 1.0, link)
    assert link.look(GRACE_SECONDS + 0.1)


def test_a_coordinator_that_never_answers_is_missed(call: Callable[[RunToken], LinkMonitor]) -> None:
    link = call(OTHER)
    assert link.look(monotonic() + OPEN_SECONDS + 0.1)


def test_a_worker_is_told_by_its_heartbeat(context: zmq.Context[Any], router: zmq.Socket[bytes]) -> None:
    lost = Event()
    control = ControlClient(context, router.getsockopt_string(zmq.LAST_ENDPOINT), 1, TOKEN, lost.set)
    welcome = ControlProto()
    welcome.welcome.seed = 7
    control.send(ControlProto(stop=False))
    assert router.poll(DEADLINE_MS)
    name, _ = router.recv_multipart()
    router.send_multipart([name, welcome.SerializeToString()])
    control.hello()
    router.close(0)
    assert lost.wait(DEADLINE)
    control.close()
