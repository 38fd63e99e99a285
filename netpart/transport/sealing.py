"""Sealed frames: AES-256-GCM under a key for each direction of a link.

    header, 120 bytes, in the clear, authenticated | payload, encrypted | tag, 16 bytes

The nonce is the number of the channel on this link (4 bytes) and the number of the message on its channel (8 bytes),
little-endian; both are in the header. A sender numbers channels and messages as it sends them, so no nonce comes twice
under a key. A receiver takes only messages after the last one of their channel that was authentic.

A frame is encrypted into the slot from which it is sent, and decrypted into a slot of the receiver: each time a byte is
touched as often as by a copy.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from netpart.errors import TransportError
from netpart.transport.frames import (
    HEADER,
    Array,
    Channel,
    ForeignFrame,
    FrameHeader,
    pack_sealed_header,
    unpack_sealed_header,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from netpart.transport.mailbox import Mailbox
    from netpart.transport.seal_keys import WireSecret

TAG_BYTES = 16
LARGEST_SEALED = 2**31 - 1 - TAG_BYTES
"""Bytes of the largest payload that the package cryptography can decrypt at once."""
NOBODY = -1
_NONCE = Struct("<IQ")
_FORGED = "expected the tag of this link's key, got another: altered on the way, or sealed by nobody of this run"
_INSTALL = "pip install 'netpart[secure]' on this host"


class RefusedFrame(ForeignFrame):
    """A frame that is not authentic, or was taken before. ``peer`` is the rank that it claims to be from, or NOBODY."""

    def __init__(self, peer: int, text: str) -> None:
        super().__init__(text)
        self.peer = peer


def missing_cipher() -> str:
    """Why this host cannot seal with AES-256-GCM; "" if it can."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        return str(error)
    return "" if hasattr(AESGCM, "decrypt_into") else "a version of cryptography before 47"


def require_cipher() -> None:
    """Raise TransportError if this host cannot seal."""
    if why := missing_cipher():
        raise TransportError(f"sealed links: expected cryptography 47 or later, got: {why}; {_INSTALL}")


def _make_cipher(key: bytes) -> AESGCM:
    """The cipher of one direction of a link."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


@dataclass
class _SentStream:
    """A channel of a link: its number, and how many messages were sealed."""

    number: int
    sent: int = 0


class LinkSealer:
    """Seals all that rank ``sender`` sends to rank ``receiver``."""

    def __init__(self, secret: WireSecret, sender: int, receiver: int) -> None:
        self._cipher = _make_cipher(secret.link_key(sender, receiver))
        self._streams: dict[Channel, _SentStream] = {}
        self._rows: dict[int, Array] = {}

    def seal(self, frame: memoryview, header: FrameHeader, array: Array) -> None:
        """Write ``header`` and the sealed ``array`` to ``frame``. Raises TransportError for what no frame can carry."""
        stream = self._streams.get(header.channel) or self._open_stream(header.channel)
        packed = pack_sealed_header(header, stream.number, stream.sent)
        nonce = _NONCE.pack(stream.number, stream.sent)
        # Counted before use, so that no error repeats this nonce: two messages under one nonce would reveal both.
        stream.sent += 1
        frame[: HEADER.size] = packed
        self._cipher.encrypt_into(nonce, self._row(array).data, packed, frame[HEADER.size :])

    def _open_stream(self, channel: Channel) -> _SentStream:
        """The next number for a channel that has none yet."""
        return self._streams.setdefault(channel, _SentStream(len(self._streams)))

    def _row(self, array: Array) -> Array:
        """The bytes of ``array`` in a row: the array itself, or a copy of one with other strides."""
        if not array.flags.c_contiguous:
            if array.nbytes not in self._rows:
                self._rows[array.nbytes] = np.empty(array.nbytes, np.uint8)
            row = self._rows[array.nbytes]
            np.copyto(row.view(array.dtype).reshape(array.shape), array)
            return row
        return array.reshape(-1).view(np.uint8)


class FrameOpener:
    """Opens the sealed frames that arrive at rank ``rank``, from the peers of which ``mailbox`` has promises."""

    def __init__(self, secret: WireSecret, rank: int, mailbox: Mailbox) -> None:
        self._secret = secret
        self._rank = rank
        self._mailbox = mailbox
        self._ciphers: dict[int, AESGCM] = {}
        self._newest: dict[tuple[int, int], int] = {}
        self._slots: dict[Channel, deque[Array]] = {}

    def open(self, frame: memoryview) -> tuple[FrameHeader, Array]:
        """The header and the tensor of a frame, both authentic, in memory that stays until ``ahead`` more have come.

        Raises RefusedFrame for any other frame. Such a frame changes nothing.
        """
        header, number, count = unpack_sealed_header(frame, TAG_BYTES)
        peer = header.source
        cipher = self._ciphers.get(peer) or self._met_cipher(peer)
        if count <= (newest := self._newest.get((peer, number), -1)):
            text = f"expected a message after number {newest} of its channel, got {count}: it was taken already"
            raise RefusedFrame(self._known(peer), f"{header}: {text}")
        slots = self._slots_of(header)
        if not _decrypt(cipher, frame, _NONCE.pack(number, count), slots[0]):
            raise RefusedFrame(self._known(peer), f"{header}: {_FORGED}")
        self._newest[peer, number] = count
        slots.rotate(-1)
        array = slots[-1].view(header.dtype).reshape(header.shape)
        array.flags.writeable = False
        return header, array

    def _known(self, peer: int) -> int:
        """``peer``, or NOBODY if nothing was promised of that rank."""
        return peer if peer in self._ciphers else NOBODY

    def _met_cipher(self, peer: int) -> AESGCM:
        """The cipher of what rank ``peer`` sends.

        Only those of promised peers are kept, as anyone can claim any rank. The others serve to name a worker that
        sends what nobody expects.
        """
        cipher = _make_cipher(self._secret.link_key(peer, self._rank))
        return self._ciphers.setdefault(peer, cipher) if peer in self._mailbox.peers else cipher

    def _slots_of(self, header: FrameHeader) -> deque[Array]:
        """The slots of a channel; the first one is free.

        There is one more than messages may be in flight, as a frame that is refused has overwritten its slot before its
        tag was known to be wrong. A frame that was not promised has a slot of its own: if it is authentic, the mailbox
        names the mistake.
        """
        ahead = self._mailbox.matching_ahead(header)
        if not ahead:
            return deque([np.empty(header.nbytes, np.uint8)])
        if header.channel not in self._slots:
            self._slots[header.channel] = deque(np.empty(header.nbytes, np.uint8) for _ in range(ahead + 1))
        return self._slots[header.channel]


def _decrypt(cipher: AESGCM, frame: memoryview, nonce: bytes, target: Array) -> bool:
    """Decrypt the payload of ``frame`` to ``target``; False if it, or its header, is not authentic."""
    from cryptography.exceptions import InvalidTag

    try:
        cipher.decrypt_into(nonce, frame[HEADER.size :], bytes(frame[: HEADER.size]), target.data)
    except InvalidTag:
        return False
    return True
