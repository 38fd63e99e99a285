"""MemoryTransport: what the law omits: recycled buffers, counts, closing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from netpart.errors import TransportError
from netpart.transport.memory import MemoryHub

CHANNEL = (1, 0, 0, 5, 0)


def pair() -> MemoryHub:
    hub = MemoryHub(2)
    hub[1].expect(CHANNEL, 0, (100, 100), np.float64)
    return hub


def test_the_array_may_be_changed_after_send_and_the_message_stays() -> None:
    hub, array = pair(), np.zeros((100, 100))
    for step in range(10):
        array[...] = step
        hub[0].send(CHANNEL, step, 1, array)
        array[...] = -1
        if step:
            message = hub[1].receive(CHANNEL, step - 1)
            assert message is not None
            assert (message == step - 1).all()


def test_a_message_is_not_overwritten_while_it_is_read() -> None:
    hub = pair()
    hub[0].send(CHANNEL, 0, 1, np.full((100, 100), 0.0))
    message = hub[1].receive(CHANNEL, 0)
    for step in (1, 2):
        hub[0].send(CHANNEL, step, 1, np.full((100, 100), float(step)))
    assert message is not None
    assert (message == 0).all()


def test_a_steady_state_allocates_no_payload() -> None:
    hub, array = pair(), np.ones((100, 100))

    def play(steps: range) -> None:
        for step in steps:
            hub[0].send(CHANNEL, step, 1, array)
            assert hub[1].receive(CHANNEL, step) is not None

    play(range(5))
    tracemalloc.start()
    play(range(5, 50))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < array.nbytes / 4


def test_counts_are_payload_bytes() -> None:
    hub = pair()
    for step in (0, 1):
        hub[0].send(CHANNEL, step, 1, np.zeros((100, 100)))
    assert hub[0].counts == {CHANNEL: 160_000}
    assert (hub[0].header_bytes, hub[1].counts) == (0, {})
    assert repr(hub[1]) == "MemoryTransport(rank 1: 2 arrived, 0 bytes sent)"


def test_an_unknown_rank_raises() -> None:
    with pytest.raises(TransportError, match="expected a rank below 2, got 2"):
        pair()[0].send(CHANNEL, 0, 2, np.zeros(3))


def test_a_closed_transport_raises_and_its_peers_do_not() -> None:
    hub = pair()
    with hub[1]:
        pass
    hub[0].send(CHANNEL, 0, 1, np.zeros((100, 100)))
    for ask in (lambda: hub[1].wait(0), lambda: hub[1].receive(CHANNEL, 0)):
        with pytest.raises(TransportError, match="closed"):
            ask()
