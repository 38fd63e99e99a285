"""ZeroMQTransport: what the law omits: strangers, limits, addresses, slots, closing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import zmq

from netpart.errors import TransportError
from netpart.transport.frames import HEADER, FrameHeader, pack_header
from netpart.transport.sockets import show_password
from netpart.transport.zeromq import QUEUES, SLACK, SPARE, ZeroMQTransport

RUN = b"run-0001"
CHANNEL = (1, 0, 0, 5, 0)
ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
FRAME = pack_header(FrameHeader(0, CHANNEL, 0, ARRAY.dtype, ARRAY.shape), RUN) + ARRAY.tobytes()
DEADLINE = 30.0
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH


@contextmanager
def receiver(scheme: str = "ipc") -> Iterator[ZeroMQTransport]:
    with ZeroMQTransport(1, RUN) as transport:
        transport.expect(CHANNEL, 0, ARRAY.shape, ARRAY.dtype)
        transport.bind(scheme)
        yield transport


@contextmanager
def stranger(address: str) -> Iterator[zmq.Socket[bytes]]:
    """Somebody who may connect: the same user, or one who has seen the run id."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as push:
        if address.startswith("tcp:"):
            show_password(push, RUN.hex().encode())
        push.connect(address)
        yield push


@contextmanager
def sender(address: str, run_id: bytes = RUN) -> Iterator[ZeroMQTransport]:
    with ZeroMQTransport(0, run_id) as transport:
        transport.connect({1: address})
        yield transport


@pytest.mark.parametrize("scheme", ["ipc", "tcp"])
def test_what_strangers_send_is_dropped_and_counted(scheme: str) -> None:
    garbage = [b"", b"GET / HTTP/1.1", bytes(500), FRAME[: HEADER.size - 1], FRAME.replace(RUN, b"run-0002")]
    with receiver(scheme) as transport, stranger(transport.address) as push:
        for frame in garbage:
            push.send(frame)
        push.send_multipart([b"in", b"several", b"parts"])
        push.send(FRAME)
        assert transport.wait(DEADLINE)
        array = transport.receive(CHANNEL, 0)
        assert array is not None
        assert (array == ARRAY).all()
        assert transport.dropped == len(garbage) + 3
        assert "a frame of 5" in transport.last_dropped


@pytest.mark.parametrize("frame", [FRAME[:-1], FRAME + b"\0", FRAME[:4] + b"\2" + FRAME[5:]])
def test_a_broken_frame_of_this_run_raises(frame: bytes) -> None:
    with receiver() as transport, stranger(transport.address) as push:
        push.send(frame)
        with pytest.raises(TransportError, match=r"^rank 1: .*expected .* got "):
            transport.wait(DEADLINE)


def test_a_frame_beyond_the_limit_is_refused_and_missed() -> None:
    beyond, later = FRAME + bytes(SLACK + 1), FrameHeader(0, CHANNEL, 1, ARRAY.dtype, ARRAY.shape)
    with receiver() as transport, stranger(transport.address) as push, stranger(transport.address) as other:
        with push.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor:
            push.send(beyond)
            assert monitor.poll(int(DEADLINE * 1000))
        push.disable_monitor()
        other.send(pack_header(later, RUN) + ARRAY.tobytes())
        assert transport.wait(DEADLINE)
        assert (transport.arrivals, transport.dropped) == (1, 0)
        with pytest.raises(TransportError, match="expected step 0 from rank 0, got step 1: a message was lost"):
            transport.receive(CHANNEL, 0)


def test_who_does_not_know_the_run_is_not_read() -> None:
    """Neither a frame nor the first of endless parts, which no limit of ZeroMQ would stop."""
    with receiver("tcp") as transport, zmq.Context() as context, ExitStack() as stack:
        for password in (b"", b"run-0002".hex().encode()):
            push = stack.enter_context(context.socket(zmq.PUSH))
            push.linger = 0
            if password:
                show_password(push, password)
            with push.get_monitor_socket(REFUSED) as monitor:
                push.connect(transport.address)
                with suppress(zmq.Again):  # who is refused before it sends has nobody to send to
                    push.send(FRAME, zmq.NOBLOCK)
                assert monitor.poll(int(DEADLINE * 1000))
            push.disable_monitor()
        with sender(transport.address) as ours:
            ours.send(CHANNEL, 0, 1, ARRAY)
            assert transport.wait(DEADLINE)
        assert (transport.arrivals, transport.dropped) == (1, 0)


def test_a_peer_that_sends_what_was_not_agreed_waits() -> None:
    """Before it was read: what waits here is bounded by promises, in kernel buffers by their size."""
    frame = bytes(SLACK)
    with receiver() as transport, stranger(transport.address) as push:
        push.linger = 0
        push.set_hwm(1)
        sent = 0
        with suppress(zmq.Again):
            while sent < 200:
                push.sndtimeo = 300
                push.send(frame)
                sent += 1
        assert QUEUES * transport.mailbox.ahead + SPARE <= sent < 60


def test_what_is_expected_after_bind_must_fit() -> None:
    with ZeroMQTransport(1, RUN, largest=24) as transport:
        transport.bind()
        transport.expect(CHANNEL, 0, (2, 3), np.float32)
        with pytest.raises(TransportError, match="expected at most 24 bytes, got float32 \\(7,\\)"):
            transport.expect((1, 0, 0, 6, 0), 0, (7,), np.float32)


def test_a_peer_may_bind_after_the_first_send() -> None:
    address = "ipc://@netpart-test-late-" + str(time.monotonic_ns())
    with sender(address) as ours:
        ours.send(CHANNEL, 0, 1, ARRAY)
        with receiver(address) as transport:
            assert transport.address == address
            assert transport.wait(DEADLINE)


def test_addresses_name_the_scheme_and_leave_no_file() -> None:
    with receiver("ipc") as a, receiver("tcp") as b:
        assert a.address.startswith("ipc://@netpart-")
        assert a.address[6:] in Path("/proc/net/unix").read_text(encoding="utf-8")
        assert b.address.startswith("tcp://127.0.0.1:")


def test_an_address_that_cannot_be_used_raises() -> None:
    with receiver("tcp") as taken, ZeroMQTransport(0, RUN) as other:
        with pytest.raises(TransportError, match=f"rank 0: expected {taken.address} to be usable, got Address already"):
            other.bind(taken.address)
        with pytest.raises(TransportError, match="expected nowhere to be usable"):
            other.connect({1: "nowhere"})
        other.connect({1: taken.address})
        with pytest.raises(TransportError, match="expected one address of rank 1"):
            other.connect({1: taken.address})


def test_a_run_id_of_another_length_raises() -> None:
    with pytest.raises(TransportError, match="run id of 8 bytes, got 3"):
        ZeroMQTransport(0, b"run")


def test_a_few_slots_suffice_where_the_sender_awaits_the_receiver() -> None:
    large, done = np.zeros(100_000), (1, 4, 0, 5, 0)
    with ZeroMQTransport(0, RUN) as ours, ZeroMQTransport(1, RUN) as theirs:
        theirs.expect(CHANNEL, 0, large.shape, large.dtype)
        ours.expect(done, 1, (0,), np.uint8)
        addresses = {0: ours.bind(), 1: theirs.bind()}
        ours.connect(addresses)
        theirs.connect(addresses)
        for step in range(30):
            ours.send(CHANNEL, step, 1, large)
            while theirs.receive(CHANNEL, step) is None:
                assert theirs.wait(DEADLINE)
            theirs.send(done, step, 0, np.empty(0, np.uint8))
            while ours.receive(done, step) is None:
                assert ours.wait(DEADLINE)
        assert ours.counts == {CHANNEL: 30 * large.nbytes}
        assert ours.header_bytes == theirs.header_bytes == 30 * HEADER.size
        assert len(ours._slots[HEADER.size + large.nbytes]) <= 3


def test_close_gives_up_on_a_peer_that_never_came_and_may_be_called_twice() -> None:
    began = time.monotonic()
    with ZeroMQTransport(0, RUN, linger=0.1) as ours:
        ours.bind()
        ours.connect({1: "ipc://@netpart-test-nobody"})
        ours.send(CHANNEL, 0, 1, ARRAY)
        ours.close()
    assert time.monotonic() - began < DEADLINE
    with pytest.raises(TransportError, match="closed"):
        ours.send(CHANNEL, 1, 1, ARRAY)
