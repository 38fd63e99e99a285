"""Framing: a message of the control plane as a socket sends it, in parts of at most PART_BYTES.

The parts are small because a connection may send one before it has shown the token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from google.protobuf.message import DecodeError, Message

from netpart.errors import NetpartError, clip_text
from netpart.proto.control_pb2 import ControlProto
from netpart.proto.fields import is_repeated

PART_BYTES = 1 << 16
FRAME_BYTES = PART_BYTES + 256
"""A part, plus the overhead of encryption."""
REFUSAL = 500
"""Maximum number of characters shown of the reason for a refusal."""
MESSAGE_BYTES = 1 << 28
"""Maximum bytes of all parts of a message: 256 MiB. The largest messages sent are plans and traces of some MiB."""


class GarbledMessage(NetpartError):
    """Bytes that are not a message of this control plane, or a message with impossible contents."""


def pack_message(message: ControlProto) -> list[bytes]:
    """The parts of ``message``: at least one."""
    data = message.SerializeToString()
    return [data[at : at + PART_BYTES] for at in range(0, len(data) or 1, PART_BYTES)]


def unpack_message(parts: Sequence[bytes]) -> ControlProto:
    """The inverse of ``pack_message``, for any bytes. Raises GarbledMessage."""
    size = sum(map(len, parts))
    if size > MESSAGE_BYTES:
        raise GarbledMessage(f"expected a message of at most {MESSAGE_BYTES} bytes, got {size}")
    try:
        message = ControlProto.FromString(b"".join(parts))
    except DecodeError:
        raise GarbledMessage(f"expected a message of the control plane, got {size} other bytes") from None
    if message.WhichOneof("message") is None:
        raise GarbledMessage("expected a message of the control plane, got an empty one")
    _check_texts(message)
    return message


def _check_texts(message: Message) -> None:
    """Raise GarbledMessage for a text that is not UTF-8. Protobuf accepts such a text and returns its bytes."""
    for field, value in message.ListFields():
        values = value if is_repeated(field) else (value,)
        if field.message_type:
            for each in values:
                _check_texts(each)
        elif field.type == field.TYPE_STRING and not all(isinstance(each, str) for each in values):
            raise GarbledMessage(f"expected text in UTF-8, got other bytes as {field.name}")


@contextmanager
def refuse_garbled(kind: str, who: str = "") -> Iterator[None]:
    """Raise GarbledMessage for an error caused by the contents of a message of ``kind``.

    Only a faulty or foreign worker sends such a message. ``who`` names the sender, if the caller does not.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        problem = f"{who}sent a message that cannot be meant, {kind}: {type(error).__name__}: {clip_text(str(error))}"
        raise GarbledMessage(f"{problem}; if all hosts have this netpart, please report it with the job") from error


def printable_text(text: str, longest: int = 100) -> str:
    """A text from another process, safe to show on a terminal: one line of printable characters."""
    return "".join(each if each.isprintable() else "?" for each in text[:longest])
