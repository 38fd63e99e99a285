"""Words: messages in parts and back; any other bytes are refused, with one error."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.launch.control import framing as words
from netpart.launch.control.framing import (
    PART_BYTES,
    GarbledMessage,
    pack_message,
    printable_text,
    refuse_garbled,
    unpack_message,
)
from netpart.proto.control_pb2 import ControlProto, WelcomeProto


@pytest.mark.parametrize("count", [0, 1, PART_BYTES - 20, PART_BYTES, 3 * PART_BYTES + 1])
def test_parts_make_the_message(count: int) -> None:
    message = ControlProto(welcome=WelcomeProto(plan=bytes(count)))
    parts = pack_message(message)
    assert all(0 < len(part) <= PART_BYTES for part in parts)
    assert unpack_message(parts) == message


@given(parts=st.lists(st.binary(max_size=200), max_size=4))
def test_any_bytes_are_a_message_or_refused(parts: list[bytes]) -> None:
    with suppress(GarbledMessage):
        assert unpack_message(parts).WhichOneof("message")


def test_a_message_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MESSAGE_BYTES", 10)
    with pytest.raises(GarbledMessage, match="expected a message of at most 10 bytes, got 12"):
        unpack_message([b"123456"] * 2)


def test_what_cannot_be_meant_is_said_so() -> None:
    told = r"^sent a message that cannot be meant, report: KeyError: 'x'; if all hosts have this netpart"
    with pytest.raises(GarbledMessage, match=told), refuse_garbled("report"):
        raise KeyError("x")


def test_what_strangers_write_is_shown_in_one_plain_line() -> None:
    assert printable_text("\x1b[31mred\r\nünd\u202e") == "?[31mred??ünd?"
    assert printable_text("x" * 1000) == "x" * 100
