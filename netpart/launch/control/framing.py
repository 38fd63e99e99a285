"""Words: a message of the control plane as what a socket carries: parts of at most PART_BYTES.

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
"""A part, and what encryption adds."""
REFUSAL = 500
"""Characters that are shown of why somebody is refused."""
MESSAGE_BYTES = 1 << 28
"""All parts of a message together: 256 MiB; a plan or a trace of some MiB is the largest that is sent."""


class GarbledMessage(NetpartError):
    """Bytes that are no message of this control plane, or a message that cannot be meant."""


def pack_message(message: ControlProto) -> list[bytes]:
    """The parts of ``message``: at least one."""
    data = message.SerializeToString()
    return [data[at : at + PART_BYTES] for at in range(0, len(data) or 1, PART_BYTES)]


def unpack_message(parts: Sequence[bytes]) -> ControlProto:
    """The inverse of ``pack_message``, for any bytes. Raises Garbled."""
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
    """Raises Garbled for a text that is not in UTF-8: protobuf lets it pass, and hands out its bytes."""
    for field, value in message.ListFields():
        values = value if is_repeated(field) else (value,)
        if field.message_type:
            for each in values:
                _check_texts(each)
        elif field.type == field.TYPE_STRING and not all(isinstance(each, str) for each in values):
            raise GarbledMessage(f"expected text in UTF-8, got other bytes as {field.name}")


@contextmanager
def refuse_garbled(kind: str, who: str = "") -> Iterator[None]:
    """Raises Garbled for what is found in a message of ``kind`` that no worker of this netpart sends; ``who`` sent it,
    if the caller does not know that."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        said = f"{who}sent a message that cannot be meant, {kind}: {type(error).__name__}: {clip_text(str(error))}"
        raise GarbledMessage(f"{said}; if all hosts have this netpart, please report it with the job") from error


def printable_text(text: str, longest: int = 100) -> str:
    """What a stranger wrote, as it may be shown on a terminal: one line of printable characters."""
    return "".join(each if each.isprintable() else "?" for each in text[:longest])
