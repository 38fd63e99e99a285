"""Sealed frames: their layout, what is refused, and that a refused frame changes nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from struct import pack

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from netpart.choices import AES_GCM, CURVE
from netpart.errors import TransportError
from netpart.transport import sealing
from netpart.transport.frames import COUNTER_BITS, HEADER, ForeignFrame, FrameHeader, pack_header, pack_sealed_header
from netpart.transport.link_guard import LinkGuard
from netpart.transport.mailbox import WINDOW, Mailbox
from netpart.transport.seal_keys import WireSecret
from netpart.transport.sealing import LARGEST_SEALED, NOBODY, TAG_BYTES, FrameOpener, LinkSealer, RefusedFrame
from netpart.transport.transport import Array
from tests.thorough import sampled

RUN = b"run-0001"
SECRET = WireSecret(AES_GCM, bytes(range(32)), RUN)
CHANNEL, OTHER = (1, 0, 0, 5, 0), (1, 0, 0, 6, 0)
ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
FLIPS, SEEDS = 20_000, 50
"""Together a million flipped bits, of which `make test` tries those of the first seed."""


def opener(secret: WireSecret = SECRET, rank: int = 1, ahead: int = WINDOW) -> FrameOpener:
    """What opens the frames of rank 0 on two channels."""
    mailbox = Mailbox(rank)
    for channel in (CHANNEL, OTHER):
        mailbox.expect(channel, 0, ARRAY.shape, ARRAY.dtype, ahead)
    return FrameOpener(secret, rank, mailbox)


def sealed(sealer: LinkSealer, step: int, array: Array = ARRAY, channel: tuple[int, ...] = CHANNEL) -> bytearray:
    """The next message of a channel."""
    frame = bytearray(HEADER.size + array.nbytes + TAG_BYTES)
    header = FrameHeader(0, channel, step, array.dtype, array.shape)  # type: ignore[arg-type]
    sealer.seal(memoryview(frame), header, array)
    return frame


def refusal(receiver: FrameOpener, frame: bytes | bytearray) -> RefusedFrame:
    """How a frame is refused whose header can be read."""
    with pytest.raises(RefusedFrame) as found:
        receiver.open(memoryview(frame))
    return found.value


def test_the_package_computes_aes_256_gcm() -> None:
    """Case 16 of McGrew and Viega's specification."""
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308" * 2)
    nonce, aad = bytes.fromhex("cafebabefacedbaddecaf888"), bytes.fromhex("feedfacedeadbeef" * 2 + "abaddad2")
    plain = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    expected = bytes.fromhex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
    )
    into, back = bytearray(len(expected)), bytearray(len(plain))
    AESGCM(key).encrypt_into(nonce, plain, aad, into)
    AESGCM(key).decrypt_into(nonce, bytes(into), aad, back)
    assert (bytes(into), bytes(back)) == (expected, plain)


def test_a_frame_is_what_the_page_says() -> None:
    """Header as plain but for version and place, nonce of the numbers of channel and message, tag at the end."""
    sealer = LinkSealer(SECRET, 0, 1)
    sealed(sealer, 3)
    sealed(sealer, 3, channel=OTHER)
    frame = sealed(sealer, 7, channel=OTHER)
    header, plain = bytes(frame[: HEADER.size]), FrameHeader(0, OTHER, 7, ARRAY.dtype, ARRAY.shape)
    place = (1 << COUNTER_BITS | 1).to_bytes(8, "little")
    assert header == pack_header(plain, place, 2)
    body = AESGCM(SECRET.link_key(0, 1)).decrypt(pack("<IQ", 1, 1), bytes(frame[HEADER.size :]), header)
    assert body == ARRAY.tobytes()
    assert len(frame) == HEADER.size + ARRAY.nbytes + 16


def test_no_nonce_comes_twice() -> None:
    sealer = LinkSealer(SECRET, 0, 1)
    frames = [sealed(sealer, step, channel=channel) for step in (0, 0, 5, 5, 3) for channel in (CHANNEL, OTHER)]
    assert len({bytes(frame[6:14]) for frame in frames}) == len(frames)


def test_numbers_that_no_nonce_can_have_are_refused() -> None:
    header = FrameHeader(0, CHANNEL, 0, ARRAY.dtype, ARRAY.shape)
    pack_sealed_header(header, 2**24 - 1, 2**40 - 1)
    for number, count in ((2**24, 0), (0, 2**40)):
        with pytest.raises(TransportError, match="expected fewer than 2\\^40 messages on each of 2\\^24 channels"):
            pack_sealed_header(header, number, count)


@pytest.mark.parametrize("seed", sampled(range(SEEDS), SEEDS))
def test_a_million_flipped_bits_are_refused(seed: int) -> None:
    """Of the header, of the payload and of the tag; and then the genuine frame is taken."""
    random, receiver = Random(seed), opener()
    frame = sealed(LinkSealer(SECRET, 0, 1), 0)
    view, bits = memoryview(frame), 8 * len(frame)
    accepted = 0
    for _ in range(FLIPS):
        at, bit = divmod(random.randrange(bits), 8)
        frame[at] ^= 1 << bit
        try:
            receiver.open(view)
            accepted += 1
        except ForeignFrame:
            pass
        frame[at] ^= 1 << bit
    assert accepted == 0
    assert (receiver.open(view)[1] == ARRAY).all()


def test_every_single_bit_counts() -> None:
    receiver, frame = opener(), sealed(LinkSealer(SECRET, 0, 1), 0)
    for at in range(8 * len(frame)):
        frame[at // 8] ^= 1 << at % 8
        with pytest.raises(ForeignFrame):
            receiver.open(memoryview(frame))
        frame[at // 8] ^= 1 << at % 8
    assert receiver.open(memoryview(frame))[0].step == 0


def test_a_replay_is_refused_whatever_came_between() -> None:
    sealer, receiver = LinkSealer(SECRET, 0, 1), opener()
    frames = [sealed(sealer, step) for step in range(4)]
    for frame in (frames[0], frames[2]):
        receiver.open(memoryview(frame))
    for frame in frames[:3]:
        error = refusal(receiver, frame)
        assert error.peer == 0
        assert "expected a message after number 2 of its channel" in str(error)
    assert receiver.open(memoryview(frames[3]))[0].step == 3


@pytest.mark.parametrize(
    ("secret", "sender", "receiver"),
    [
        (SECRET, 0, 2), (SECRET, 1, 0), (SECRET, 2, 1), (replace(SECRET, secret=bytes(32)), 0, 1),
        (replace(SECRET, run_id=b"run-0002"), 0, 1), (replace(SECRET, generation=1), 0, 1),
    ],
    ids=["to another", "back to its sender", "of another", "another token", "another run", "another generation"],
)  # fmt: skip
def test_a_frame_of_another_link_run_or_token_is_refused(secret: WireSecret, sender: int, receiver: int) -> None:
    """Even one that claims to be of this link."""
    frame = sealed(LinkSealer(secret, sender, receiver), 0)
    error = refusal(opener(), frame)
    assert error.peer == 0
    assert "altered on the way, or sealed by nobody of this run" in str(error)


def test_a_frame_of_a_rank_that_nobody_expects_is_nobodys() -> None:
    frame = sealed(LinkSealer(SECRET, 0, 1), 0)
    frame[16:20] = (77).to_bytes(4, "little")
    receiver = opener()
    assert refusal(receiver, frame).peer == NOBODY
    assert not receiver._ciphers


@pytest.mark.parametrize(
    "frame",
    [
        b"", b"GET / HTTP/1.1", bytes(500), pack_header(FrameHeader(0, CHANNEL, 0, ARRAY.dtype, ARRAY.shape), RUN),
        pack_header(FrameHeader(0, CHANNEL, 0, ARRAY.dtype, ARRAY.shape), RUN) + ARRAY.tobytes() + bytes(TAG_BYTES),
    ],
    ids=["empty", "http", "zeros", "a header", "an old version"],
)  # fmt: skip
def test_what_is_no_sealed_frame_is_foreign(frame: bytes) -> None:
    with pytest.raises(ForeignFrame, match=r"expected (at least 136 bytes|a sealed frame, of version 2), got"):
        opener().open(memoryview(frame))


@pytest.mark.parametrize("ahead", [1, WINDOW])
def test_a_refused_frame_overwrites_nothing_that_is_read(ahead: int) -> None:
    """As many messages as may be in flight stay as they were, while forged ones come between them."""
    sealer, receiver, kept = LinkSealer(SECRET, 0, 1), opener(ahead=ahead), list[Array]()
    for step in range(6 * ahead):
        frame = sealed(sealer, step, ARRAY + step)
        forged = bytearray(frame)
        forged[-1] ^= 1
        refusal(receiver, forged)
        kept = [*kept, receiver.open(memoryview(frame))[1]][-ahead:]
        refusal(receiver, forged)
        later = sealed(LinkSealer(replace(SECRET, secret=bytes(32)), 0, 1), step)
        later[6:14] = (step + 1).to_bytes(8, "little")
        refusal(receiver, later)
        for back, array in enumerate(reversed(kept)):
            assert (array == ARRAY + step - back).all()
            assert not array.flags.writeable


def test_a_message_that_the_package_cannot_decrypt_is_refused_before_it_is_sent() -> None:
    mailbox = Mailbox(1)
    mailbox.limit = LARGEST_SEALED
    guard = LinkGuard(1, RUN, SECRET)
    assert guard.opener(mailbox, "tcp://10.0.0.1:5555")
    mailbox.limit += 1
    with pytest.raises(TransportError, match=f"rank 1: expected messages of at most {LARGEST_SEALED} bytes on sealed"):
        guard.opener(mailbox, "tcp://10.0.0.1:5555")
    assert guard.opener(mailbox, "tcp://127.0.0.1:5555") is None


def test_a_host_without_the_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "missing_cipher", lambda: "No module named 'cryptography'")
    guard, address = LinkGuard(1, RUN, SECRET), "tcp://10.0.0.1:5555"
    for start in (partial(guard.opener, Mailbox(1), address), partial(guard.sealer, 0, address)):
        with pytest.raises(TransportError, match=r"No module named 'cryptography'; pip install 'netpart\[secure\]'"):
            start()
    assert LinkGuard(1, RUN, replace(SECRET, cipher=CURVE)).opener(Mailbox(1), "tcp://10.0.0.1:5555") is None
