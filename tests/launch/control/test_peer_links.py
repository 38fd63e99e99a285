"""PeerLinks: whose connection is closed is known at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from netpart.launch.control.peer_links import PeerLinks
from netpart.launch.control.seats import HEART, KNOCK, SCRIBE, VOICE, WorkerSeats, socket_identity
from netpart.launch.control.token import BYTES, RunToken
from netpart.transport.sockets import bind_socket, connect_socket, limited_socket

SOON_MS = 10_000


class Listener:
    """A ROUTER with its links, and the peers that have connected to it."""

    def __init__(self, address: str) -> None:
        self.context: zmq.Context[Any] = zmq.Context()
        self.socket = limited_socket(self.context, zmq.ROUTER, 1000)
        self.links = PeerLinks(self.socket)
        self.address = bind_socket(self.socket, address)
        self.peers: dict[bytes, zmq.Socket[bytes]] = {}

    def connect(self, name: bytes) -> None:
        """Let a peer connect and send a message, and read that."""
        peer = limited_socket(self.context, zmq.DEALER, 1000)
        peer.setsockopt(zmq.IDENTITY, name)
        connect_socket(peer, self.address)
        self.peers[name] = peer
        self.hear(name)

    def hear(self, name: bytes) -> None:
        """Read a message of a peer."""
        self.peers[name].send_multipart([b"here", name])
        assert self.socket.poll(SOON_MS)
        assert self.links.read_message() == (name, [b"here", name])

    def lose(self, name: bytes) -> None:
        """Close the connection of a peer."""
        self.peers.pop(name).close(0)
        assert self.links.monitor.poll(SOON_MS)

    def close(self) -> None:
        for peer in self.peers.values():
            peer.close(0)
        self.links.close()
        self.socket.close(0)
        self.context.term()


@pytest.fixture(params=["tcp://127.0.0.1:*", "ipc://@netpart-test-peer-links"])
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    made = Listener(request.param)
    yield made
    made.close()


def test_who_closes_his_connection_is_named_once(listener: Listener) -> None:
    for name in (b"one", b"two", b"three"):
        listener.connect(name)
    assert listener.links.closed() == []
    listener.lose(b"two")
    assert listener.links.closed() == [b"two"]
    assert listener.links.closed() == []


def test_a_connection_with_the_number_of_a_closed_one_is_another_peers(listener: Listener) -> None:
    listener.connect(b"one")
    listener.lose(b"one")
    assert listener.links.closed() == [b"one"]
    for name in (b"two", b"three"):
        listener.connect(name)
        listener.hear(name)
    listener.lose(b"three")
    assert listener.links.closed() == [b"three"]


def test_the_end_of_a_connection_is_not_that_of_the_next_one_with_its_number(listener: Listener) -> None:
    """Nobody looks for closed links before the next peer has spoken."""
    listener.connect(b"known")
    for turn in range(20):
        listener.connect(b"before %d" % turn)
        listener.lose(b"before %d" % turn)
        listener.connect(b"after %d" % turn)
        assert listener.links.closed() == [b"before %d" % turn]
        listener.lose(b"after %d" % turn)
        assert listener.links.closed() == [b"after %d" % turn]


def test_what_was_sent_before_the_end_can_still_be_read(listener: Listener) -> None:
    listener.connect(b"one")
    listener.peers[b"one"].send_multipart([b"last words"])
    listener.peers.pop(b"one").close(1000)
    assert listener.links.monitor.poll(SOON_MS)
    assert listener.socket.poll(SOON_MS)
    assert listener.links.read_message() == (b"one", [b"last words"])
    assert listener.links.closed() == [b"one"]


def test_the_sockets_that_a_worker_keeps_name_its_seat() -> None:
    seats = WorkerSeats(RunToken(bytes(BYTES)), 2)
    secret = seats.ticket(1).secret
    found = {which: seats.lost_with(socket_identity(secret, 1, which)) for which in (VOICE, HEART, SCRIBE)}
    assert found == {VOICE: 1, HEART: 1, SCRIBE: None}
    assert seats.lost_with(KNOCK + seats.token.secret) is None
    seats.free(1)
    assert seats.lost_with(socket_identity(secret, 1, VOICE)) is None
