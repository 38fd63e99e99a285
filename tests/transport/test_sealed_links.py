"""Sealed links of ZeroMQ: what somebody who has listened to them can send, and what outsiders cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pytest
import zmq

from netpart.choices import AES_GCM, CURVE
from netpart.transport.frames import HEADER, FrameHeader, pack_header
from netpart.transport.seal_keys import WireSecret
from netpart.transport.sealing import NOBODY, TAG_BYTES, LinkSealer
from netpart.transport.sockets import show_curve_key, show_password
from netpart.transport.zeromq import ZeroMQTransport

RUN = b"run-0001"
CHANNEL = (1, 0, 0, 5, 0)
ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
HEADING = FrameHeader(0, CHANNEL, 0, ARRAY.dtype, ARRAY.shape)
PLAIN_FRAME = pack_header(HEADING, RUN) + ARRAY.tobytes()
DEADLINE = 30.0
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH


def secret(cipher: str = AES_GCM, first: int = 0, everywhere: bool = True) -> WireSecret:
    return WireSecret(cipher, bytes(range(first, first + 32)), RUN, everywhere=everywhere)


@contextmanager
def link(given: WireSecret) -> Iterator[tuple[ZeroMQTransport, ZeroMQTransport]]:
    """Rank 0, which is connected to rank 1, and rank 1."""
    with ZeroMQTransport(0, RUN, secret=given) as ours, ZeroMQTransport(1, RUN, secret=given) as theirs:
        theirs.expect(CHANNEL, 0, ARRAY.shape, ARRAY.dtype)
        ours.connect({1: theirs.bind("tcp")})
        yield ours, theirs


@contextmanager
def eavesdropper(address: str) -> Iterator[zmq.Socket[bytes]]:
    """Somebody who has seen the password on the wire, which is sent in the open."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as push:
        show_password(push, secret().door_password(1))
        push.connect(address)
        yield push


def sealed(given: WireSecret, sender: int = 0, receiver: int = 1, name: FrameHeader = HEADING) -> bytes:
    frame = bytearray(HEADER.size + ARRAY.nbytes + TAG_BYTES)
    LinkSealer(given, sender, receiver).seal(memoryview(frame), name, ARRAY)
    return bytes(frame)


def take(transport: ZeroMQTransport, step: int) -> None:
    """Take the genuine message of a step."""
    while (array := transport.receive(CHANNEL, step)) is None:
        assert transport.wait(DEADLINE)
    assert (array == ARRAY + step).all()


def test_what_somebody_sends_who_has_listened_is_dropped_and_named() -> None:
    """Replayed, flipped, plain, sealed under another token, claimed to be of others: the run goes on."""
    genuine = sealed(secret())
    flipped = [genuine[:at] + bytes([genuine[at] ^ 1]) + genuine[at + 1 :] for at in range(20, len(genuine), 9)]
    strange = sealed(secret(), sender=7, name=FrameHeader(7, CHANNEL, 0, ARRAY.dtype, ARRAY.shape))
    foreign = [b"", b"GET / HTTP/1.1", PLAIN_FRAME, strange[:-1] + b"?"]
    forged = [sealed(secret(first=1)), sealed(secret(), receiver=2)]
    with link(secret()) as (ours, theirs), eavesdropper(theirs.address) as push:
        ours.send(CHANNEL, 0, 1, ARRAY)
        take(theirs, 0)
        for frame in [genuine, *flipped, *forged, *foreign]:
            push.send(frame)
        push.send_multipart([b"in", b"several", b"parts"])
        push.send(b"last")
        while not theirs.last_dropped.endswith("a frame of 4"):
            theirs.wait(DEADLINE / 100)
        ours.send(CHANNEL, 1, 1, ARRAY + 1)
        take(theirs, 1)
        assert theirs.arrivals == 2
        assert theirs.dropped == 1 + len(flipped) + len(forged) + len(foreign) + 4
        assert theirs.refused.keys() == {0, NOBODY}
        assert sum(row.count for row in theirs.refused.values()) == theirs.dropped
        assert theirs.refused[0].count >= 3 + len(flipped) // 2


class Flood:
    """A socket at which more frames of a stranger arrive than anyone can look at."""

    def __init__(self) -> None:
        self.looked = 0

    def getsockopt(self, option: int) -> int:
        return zmq.POLLIN

    def recv(self, flags: int, copy: bool) -> zmq.Frame:
        self.looked += 1
        assert self.looked < 1_000_000, "it looks at nothing else"
        return zmq.Frame(b"a stranger")

    def poll(self, milliseconds: int) -> int:
        return zmq.POLLIN

    def close(self, linger: int) -> None:
        return


def test_who_floods_a_rank_does_not_keep_it_from_its_deadline() -> None:
    with ZeroMQTransport(1, RUN, secret=secret()) as flooded:
        flooded._pull = Flood()  # type: ignore[assignment]
        assert not flooded.wait(0.1)
        assert flooded.dropped > 0


def test_a_tag_is_counted_with_the_header() -> None:
    with link(secret()) as (ours, theirs):
        ours.send(CHANNEL, 0, 1, ARRAY)
        take(theirs, 0)
        assert (ours.counts, ours.header_bytes) == ({CHANNEL: ARRAY.nbytes}, HEADER.size + TAG_BYTES)
        assert theirs.cipher == AES_GCM


def test_a_loopback_link_is_plain_unless_all_are_sealed() -> None:
    with link(secret(everywhere=False)) as (ours, theirs):
        ours.send(CHANNEL, 0, 1, ARRAY)
        take(theirs, 0)
        assert (ours.header_bytes, theirs.cipher) == (HEADER.size, "")


@pytest.mark.parametrize("cipher", [AES_GCM, CURVE])
def test_who_has_another_token_cannot_connect(cipher: str) -> None:
    with link(secret(cipher)) as (ours, theirs), zmq.Context() as context, ExitStack() as stack:
        push = stack.enter_context(context.socket(zmq.PUSH))
        push.linger = 0
        other = secret(cipher, first=1)
        show_curve_key(push, other.curve_key(1)) if cipher == CURVE else show_password(push, other.door_password(1))
        with push.get_monitor_socket(REFUSED) as monitor:
            push.connect(theirs.address)
            with suppress(zmq.Again):  # who is refused before it sends has nobody to send to
                push.send(PLAIN_FRAME, zmq.NOBLOCK)
            assert monitor.poll(int(DEADLINE * 1000))
        push.disable_monitor()
        ours.send(CHANNEL, 0, 1, ARRAY)
        take(theirs, 0)
        assert (theirs.dropped, theirs.cipher) == (0, cipher)
