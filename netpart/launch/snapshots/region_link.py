"""RegionLink: a client's connection to one region service: requests with numbers, and their answers.

A message has three frames: a seal (empty unless sealed), a head (RegionHeadProto) and a payload of bytes.
"""

from __future__ import annotations

from typing import Any

import zmq
from google.protobuf.message import DecodeError

from netpart.errors import TransportError
from netpart.launch.control.sent_regions import PIECE_BYTES
from netpart.launch.snapshots.region_secret import ANSWER, REQUEST, RegionOpener, RegionSealer, RegionSecret
from netpart.proto.control_pb2 import RegionHeadProto
from netpart.transport.sockets import Socket, connect_socket, limited_socket

CHUNK_BYTES = PIECE_BYTES
"""Largest payload of a message."""
HEAD_BYTES = 1 << 20
"""Largest head of a message."""
FRAME_BYTES = CHUNK_BYTES + 4096
QUEUE = 16
"""Messages of a connection that may wait, each way."""
FRAMES = 3


def pack_region_message(sealer: RegionSealer | None, head: RegionHeadProto, payload: Any = b"") -> list[Any]:
    """The frames of a message."""
    packed = head.SerializeToString()
    return sealer.seal(packed, payload) if sealer else [b"", packed, payload]


def unpack_region_message(opener: RegionOpener | None, parts: list[memoryview]) -> tuple[RegionHeadProto, memoryview]:
    """The head and the payload of a message of anyone. Raises TransportError."""
    if len(parts) != FRAMES:
        raise TransportError(f"expected a message of {FRAMES} frames, got {len(parts)}")
    seal, packed, payload = parts
    opened = memoryview(opener.open(bytes(seal), bytes(packed), payload)) if opener else payload
    try:
        return RegionHeadProto.FromString(bytes(packed)), opened
    except DecodeError:
        raise TransportError(f"expected the head of a message, got {len(packed)} other bytes") from None


class RegionLink:
    """Connection to the region service at ``address``. One thread may use it."""

    def __init__(self, context: zmq.Context[Any], address: str, secret: RegionSecret) -> None:
        self.address = address
        sealed = secret.seals(address)
        self._sealer = RegionSealer(secret, REQUEST, address) if sealed else None
        self._opener = RegionOpener(secret, ANSWER, address) if sealed else None
        self.socket: Socket = limited_socket(context, zmq.DEALER, FRAME_BYTES, QUEUE)
        self.socket.setsockopt(zmq.LINGER, 0)
        secret.introduce(self.socket, address)
        connect_socket(self.socket, address)

    def send(self, head: RegionHeadProto, payload: Any = b"") -> bool:
        """Send a request without waiting; False if too many wait to leave."""
        try:
            # Without a copy: what is sent is not written before its snapshot is committed or dropped.
            self.socket.send_multipart(pack_region_message(self._sealer, head, payload), zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return False
        return True

    def receive(self) -> tuple[RegionHeadProto, memoryview] | None:
        """The next answer that has arrived, or None. Raises TransportError if what arrived is not an answer."""
        try:
            parts = self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return None
        return unpack_region_message(self._opener, [part.buffer for part in parts])

    def close(self) -> None:
        self.socket.close(0)
