"""Frames: a fixed header in front of a tensor's bytes, written and read by pure functions.

    magic 4s | version H | run id 8s | dtype B | rank B | source I | phase, way, micro, edge, chunk 5I |
    step Q | nbytes Q | extents 8Q | payload

The header is little-endian and unpadded. It has 120 bytes, so the payload after it is aligned if the frame is. Every
field is checked before a byte of the payload is used. No field of a frame can name code.

Version 1 is plain. Version 2 is sealed (sealing.py): in place of the run id it has the number of the message on its
channel (5 bytes) and of the channel on its link (3 bytes), and a tag of 16 bytes follows the payload.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from netpart.errors import TransportError
from netpart.spec import Shape

Array = npt.NDArray[Any]
Channel = tuple[int, int, int, int, int]
"""(phase, way, micro, edge, chunk): names a stream of messages with one sender and one receiver."""

HEADER = struct.Struct("<4sH8sBBI5IQQ8Q")
MAGIC, VERSION, SEALED = b"NPRT", 1, 2
COUNTER_BITS, _PLACE = 40, struct.Struct("<Q")
"""In a sealed frame the number of the message has COUNTER_BITS bits, below those of the number of its channel."""
RUN_ID_BYTES, LARGEST_RANK, LARGEST_BYTES = 8, 8, 2**62

DTYPES: tuple[np.dtype[Any], ...] = tuple(np.dtype(name) for name in ("<f4", "<f8", "<i4", "<i8", "|u1", "<f2", "<u2"))
"""Element types of payloads; the code of a dtype is its index here, counted from 1."""
_CODES = {dtype: code for code, dtype in enumerate(DTYPES, start=1)}
SAME = "install the same netpart on all hosts"


class ForeignFrame(TransportError):
    """A frame that is not of this run. Any process that can connect can send one, so it is not an error of a peer."""


@dataclass(frozen=True)
class FrameHeader:
    """The identity of a message (sender, channel, step) and the dtype and shape of the tensor that follows."""

    source: int
    channel: Channel
    step: int
    dtype: np.dtype[Any]
    shape: Shape

    @property
    def nbytes(self) -> int:
        """Bytes of the payload."""
        return prod(self.shape) * self.dtype.itemsize

    def at(self, step: int) -> FrameHeader:
        """This header with another step."""
        return FrameHeader(self.source, self.channel, step, self.dtype, self.shape)

    def __str__(self) -> str:
        return f"{format_channel(self.channel)}: {self.dtype} {self.shape} of step {self.step} from rank {self.source}"


def format_channel(channel: Channel) -> str:
    """Name a channel in an error."""
    return "channel " + " ".join(
        f"{name}={int(n)}" for name, n in zip(("phase", "way", "micro", "edge", "chunk"), channel, strict=True)
    )


def check_frame_tensor(channel: Channel, dtype: np.dtype[Any], shape: Shape) -> None:
    """Raise TransportError for a tensor that no frame can carry."""
    if dtype not in _CODES:
        known = ", ".join(str(d) for d in DTYPES)
        raise TransportError(
            f"{format_channel(channel)}: expected one of the dtypes {known}, got {dtype}; convert it first"
        )
    if len(shape) > LARGEST_RANK:
        raise TransportError(
            f"{format_channel(channel)}: expected at most {LARGEST_RANK} axes, got shape {shape}; reshape it"
        )


def pack_header(header: FrameHeader, run_id: bytes, version: int = VERSION) -> bytes:
    """Write a header (HEADER.size bytes). Raises TransportError for a tensor or number that no frame can carry."""
    check_frame_tensor(header.channel, header.dtype, header.shape)
    rank = len(header.shape)
    extents = header.shape + (0,) * (LARGEST_RANK - rank)
    identity = (MAGIC, version, run_id, _CODES[header.dtype], rank, header.source)
    try:
        return HEADER.pack(*identity, *header.channel, header.step, header.nbytes, *extents)
    except struct.error as error:
        wanted = "unsigned numbers that fit the header"
        raise TransportError(f"{header}: expected {wanted}, got {error}; pass smaller ones") from None


def pack_sealed_header(header: FrameHeader, number: int, count: int) -> bytes:
    """Write the header of a sealed frame: message ``count`` of channel ``number`` of its link.

    Raises what ``pack_header`` raises, and TransportError for more messages or channels than a header can count.
    """
    if count >> COUNTER_BITS or number >> 64 - COUNTER_BITS:
        wanted = f"fewer than 2^{COUNTER_BITS} messages on each of 2^{64 - COUNTER_BITS} channels"
        raise TransportError(f"{header}: expected {wanted}, got one more; end the run, and go on with --resume")
    return pack_header(header, _PLACE.pack(number << COUNTER_BITS | count), SEALED)


def read_frame_header(frame: bytes | memoryview, run_id: bytes) -> FrameHeader:
    """Read and check the header of a whole frame: as ``unpack_header``, and the payload must be complete."""
    header = unpack_header(frame, run_id)
    if header.nbytes != len(frame) - HEADER.size:
        raise TransportError(f"{header}: expected {header.nbytes} bytes, got {len(frame) - HEADER.size}; {SAME}")
    return header


def unpack_header(frame: bytes | memoryview, run_id: bytes) -> FrameHeader:
    """Read and check the header in front of ``frame``.

    Raises ForeignFrame for a frame that is not of run ``run_id``. Raises TransportError for a broken frame of the run:
    another version, an unknown dtype, extents that do not give its bytes.
    """
    if len(frame) < HEADER.size:
        raise ForeignFrame(f"expected a header of {HEADER.size} bytes, got a frame of {len(frame)}")
    magic, _, run, *_ = HEADER.unpack_from(frame)
    if magic != MAGIC or run != run_id:
        raise ForeignFrame(f"expected frames of run {run_id.hex()}, got one that begins with {bytes(frame[:14]).hex()}")
    return _checked_header(frame, VERSION)


def unpack_sealed_header(frame: memoryview, tag: int) -> tuple[FrameHeader, int, int]:
    """The header of a whole sealed frame with a tag of ``tag`` bytes; the numbers of its channel and of the message.

    Raises ForeignFrame for all faults: anyone can have written what is not yet known to be authentic.
    """
    if len(frame) < HEADER.size + tag:
        raise ForeignFrame(f"expected at least {HEADER.size + tag} bytes, got a frame of {len(frame)}")
    magic, version, place, *_ = HEADER.unpack_from(frame)
    if (magic, version) != (MAGIC, SEALED):
        began = bytes(frame[:14]).hex()
        raise ForeignFrame(f"expected a sealed frame, of version {SEALED}, got one that begins with {began}; {SAME}")
    try:
        header = _checked_header(frame, SEALED)
    except TransportError as error:
        raise ForeignFrame(str(error)) from None
    if header.nbytes != len(frame) - HEADER.size - tag:
        raise ForeignFrame(f"{header}: expected {header.nbytes} bytes, got {len(frame) - HEADER.size - tag}")
    number, count = divmod(_PLACE.unpack(place)[0], 1 << COUNTER_BITS)
    return header, number, count


def _checked_header(frame: bytes | memoryview, expected: int) -> FrameHeader:
    """The header in front of ``frame``, of version ``expected``. Raises TransportError for impossible numbers."""
    _, version, _, code, rank, source, *fields = HEADER.unpack_from(frame)
    if version != expected:
        raise TransportError(f"rank {source}: expected frames of version {expected}, got {version}; {SAME}")
    if not 1 <= code <= len(DTYPES) or rank > LARGEST_RANK or any(fields[7 + rank :]):
        wanted = f"a known dtype and at most {LARGEST_RANK} axes"
        raise TransportError(f"rank {source}: expected {wanted}, got {code} and {rank}; {SAME}")
    phase, way, micro, edge, chunk, step, nbytes = fields[:7]
    header = FrameHeader(source, (phase, way, micro, edge, chunk), step, DTYPES[code - 1], tuple(fields[7 : 7 + rank]))
    # Empty axes count as 1: an array without elements can still have extents whose strides overflow in NumPy.
    if prod(extent or 1 for extent in header.shape) * header.dtype.itemsize > LARGEST_BYTES:
        wanted = f"at most {LARGEST_BYTES} bytes, counting empty axes as 1"
        raise TransportError(f"{header}: expected {wanted}, got more; {SAME}")
    if nbytes != header.nbytes:
        wanted = f"a tensor of {header.nbytes} bytes"
        raise TransportError(f"{header}: expected {wanted}, got {nbytes} in its header; {SAME}")
    return header


def frame_payload(frame: memoryview, header: FrameHeader) -> Array:
    """The tensor of a frame (flat bytes), without a copy: the array refers to the frame's memory and keeps it alive."""
    return np.frombuffer(frame, np.uint8)[HEADER.size :].view(header.dtype).reshape(header.shape)
