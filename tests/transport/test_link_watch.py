"""LinkWatch: a connection that closes or does not open is found without a message being missed."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from time import monotonic

import pytest

from netpart.transport.link_watch import CLOSED_SECONDS, OPEN_SECONDS, LostLink
from netpart.transport.zeromq import ZeroMQTransport

RUN = b"12345678"
SOON = 30.0
PAUSE = Event()


@pytest.fixture
def pair() -> Iterator[list[ZeroMQTransport]]:
    made = [ZeroMQTransport(rank, RUN) for rank in range(2)]
    yield made
    for transport in made:
        transport.abandon()


def connect(pair: list[ZeroMQTransport]) -> str:
    """Connect rank 0 to rank 1, and wait until the connection is open; return the address."""
    pair[0].watch_links()
    address = pair[1].bind("tcp")
    pair[0].connect({1: address})
    watch = pair[0]._watch
    assert watch is not None
    end = monotonic() + SOON
    while pair[0].lost_link() is None and not watch._links[1].opened and monotonic() < end:
        PAUSE.wait(0.01)
    return address


def test_a_link_that_closes_is_lost_although_it_opens_again(pair: list[ZeroMQTransport]) -> None:
    address = connect(pair)
    assert pair[0].lost_link() is None
    pair[1].close()
    pair[1] = ZeroMQTransport(1, RUN)
    pair[1].bind(address)
    end = monotonic() + SOON
    while (found := pair[0].lost_link()) is None and monotonic() < end:
        PAUSE.wait(CLOSED_SECONDS / 10)
    assert found == LostLink(1, True, f"the link to worker 1 at {address} has closed")


def test_a_link_that_does_not_open_is_lost(pair: list[ZeroMQTransport]) -> None:
    address = pair[1].bind("tcp")
    pair[1].close()
    pair[0].watch_links()
    pair[0].connect({1: address})
    assert pair[0].lost_link() is None
    late = monotonic() + OPEN_SECONDS
    assert pair[0]._watch is not None
    found = pair[0]._watch.lost(late + 1)
    assert found == LostLink(1, False, f"cannot reach worker 1: no connection to {address} within 5 s")


def test_links_that_are_not_watched_are_not_lost(pair: list[ZeroMQTransport]) -> None:
    pair[0].connect({1: pair[1].bind("tcp")})
    pair[1].close()
    PAUSE.wait(2 * CLOSED_SECONDS)
    assert pair[0].lost_link() is None
