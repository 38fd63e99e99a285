"""Seats and secrets of the teams of an elastic run: what an old team sends is nobody's, and no key is used twice."""

from __future__ import annotations

import os

import pytest

from netpart.choices import AES_GCM
from netpart.errors import NetpartError
from netpart.launch.control.seal_choice import SealChoice
from netpart.launch.control.seats import HEART, SCRIBE, VOICE, WorkerSeats, socket_identity
from netpart.launch.control.token import BYTES, RunToken


def names(seats: WorkerSeats, seat: int, team: int) -> list[bytes]:
    secret = seats.ticket(seat).secret
    return [socket_identity(secret, seat, which, team) for which in (VOICE, HEART, SCRIBE)]


def test_the_writer_of_checkpoints_belongs_to_a_team() -> None:
    seats = WorkerSeats(RunToken(os.urandom(BYTES)), 2)
    voice, heart, scribe = names(seats, 1, 0)
    assert [seats.ranks[name] for name in (voice, heart, scribe)] == [1, 1, 1]
    seats.enter_team(1, 3)
    assert [seats.ranks.get(name) for name in (voice, heart, scribe)] == [1, 1, None]
    assert seats.ranks[names(seats, 1, 3)[2]] == 1
    assert scribe not in seats.left  # it is not told that its seat is given up: its worker has it


def test_a_seat_that_is_given_up_is_one_of_no_team() -> None:
    seats = WorkerSeats(RunToken(os.urandom(BYTES)), 2)
    seats.enter_team(0, 2)
    old = names(seats, 0, 2)
    seats.free(0)
    assert not any(name in seats.ranks for name in old)
    assert set(old) <= seats.left
    assert all(seats.ranks[name] == 0 for name in names(seats, 0, 0))


def test_each_team_has_keys_of_its_own() -> None:
    """Also with one run id: the generation alone is part of every key."""
    choice = SealChoice(AES_GCM)
    secrets = [choice.draw_secret(run, team) for run, team in ((b"run-0001", 0), (b"run-0001", 1), (b"run-0002", 1))]
    assert [secret.generation for secret in secrets if secret] == [0, 1, 1]
    keys = {secret.link_key(0, 1) for secret in secrets if secret}
    assert len(keys) == 3


def test_a_new_team_cannot_open_what_the_old_one_sealed() -> None:
    pytest.importorskip("cryptography")
    import numpy as np

    from netpart.transport.frames import HEADER, FrameHeader
    from netpart.transport.mailbox import Mailbox
    from netpart.transport.sealing import TAG_BYTES, FrameOpener, LinkSealer

    choice = SealChoice(AES_GCM)
    old, new = choice.draw_secret(b"run-0001", 0), choice.draw_secret(b"run-0002", 1)
    assert old is not None
    assert new is not None
    values = np.arange(4.0)
    header = FrameHeader(0, (1, 0, 0, 0, 0), 0, values.dtype, values.shape)
    frame = memoryview(bytearray(HEADER.size + values.nbytes + TAG_BYTES))
    LinkSealer(old, 0, 1).seal(frame, header, values)
    mailbox = Mailbox(1)
    mailbox.expect(header.channel, 0, values.shape, values.dtype)
    with pytest.raises(NetpartError, match="altered on the way, or sealed by nobody of this run"):
        FrameOpener(new, 1, mailbox).open(frame)
