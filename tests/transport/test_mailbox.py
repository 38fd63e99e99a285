"""Mailbox: order, promises and waiting, without any wire."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import TransportError
from netpart.transport.frames import FrameHeader
from netpart.transport.mailbox import WINDOW, Mailbox

CHANNEL = (1, 0, 0, 5, 0)
F4: np.dtype[Any] = np.dtype(np.float32)
DEADLINE = 30.0


def mailbox() -> Mailbox:
    box = Mailbox(2)
    box.expect(CHANNEL, 0, (3,), F4)
    return box


def arrive(box: Mailbox, step: int) -> bool:
    header = FrameHeader(0, CHANNEL, step, F4, (3,))
    if accepted := box.accepts(header):
        box.put(header, np.full(3, step, F4))
    return accepted


def test_messages_come_out_once_in_order() -> None:
    box = mailbox()
    assert box.take(CHANNEL, 0) is None
    assert arrive(box, 0)
    assert arrive(box, 1)
    for step in (0, 1):
        array = box.take(CHANNEL, step)
        assert array is not None
        assert array.tolist() == [step] * 3
    assert box.take(CHANNEL, 2) is None
    assert box.arrivals == 2


@given(st.lists(st.booleans(), max_size=60))
def test_any_interleaving_of_arrivals_and_takes_is_a_queue(moves: list[bool]) -> None:
    box = mailbox()
    came = 0
    taken = 0
    for arrives in moves:
        if arrives and came - taken < WINDOW:
            assert arrive(box, came)
            came += 1
        else:
            array = box.take(CHANNEL, taken)
            assert (array is None) == (came == taken)
            taken += array is not None
    assert box.arrivals == came


def test_steps_may_start_anywhere_and_leave_gaps_if_both_sides_do() -> None:
    box = mailbox()
    for step in (40, 50):
        assert arrive(box, step)
        assert box.take(CHANNEL, step) is not None


def test_a_step_twice_a_gap_and_a_step_taken_before_raise() -> None:
    box = mailbox()
    assert arrive(box, 3)
    assert not arrive(box, 3)
    with pytest.raises(TransportError, match="expected a step after 3"):
        box.news()
    box = mailbox()
    assert arrive(box, 1)
    with pytest.raises(TransportError, match="expected step 0 from rank 0, got step 1"):
        box.take(CHANNEL, 0)
    box = mailbox()
    assert arrive(box, 0)
    assert box.take(CHANNEL, 0) is not None
    with pytest.raises(TransportError, match="which was taken"):
        box.take(CHANNEL, 0)


def test_more_than_the_window_raises() -> None:
    box = mailbox()
    assert [arrive(box, step) for step in range(WINDOW + 1)] == [True] * WINDOW + [False]
    with pytest.raises(TransportError, match=r"at most 2 messages ahead, but steps \[0, 1\] wait"):
        box.take(CHANNEL, 0)


@pytest.mark.parametrize(
    "header",
    [
        FrameHeader(0, (1, 0, 0, 6, 0), 0, F4, (3,)),
        FrameHeader(1, CHANNEL, 0, F4, (3,)),
        FrameHeader(0, CHANNEL, 0, F4, (4,)),
        FrameHeader(0, CHANNEL, 0, F4, (3, 1)),
        FrameHeader(0, CHANNEL, 0, np.dtype(np.int32), (3,)),
    ],
    ids=str,
)
def test_a_broken_promise_names_rank_channel_and_message(header: FrameHeader) -> None:
    box = mailbox()
    assert not box.accepts(header)
    with pytest.raises(TransportError) as raised:
        box.take(CHANNEL, 0)
    assert str(raised.value).startswith(f"rank 2, {header}: expected ")


def test_the_first_error_stays() -> None:
    box = mailbox()
    box.fail("first")
    box.fail("second")
    for ask in (box.news, box.check, lambda: box.take(CHANNEL, 0)):
        with pytest.raises(TransportError, match=r"^first$"):
            ask()
    assert not arrive(box, 0)


def test_promises_are_checked() -> None:
    box = mailbox()
    box.expect(CHANNEL, 0, (3,), F4)
    with pytest.raises(TransportError, match="expected one promise"):
        box.expect(CHANNEL, 1, (3,), F4)
    with pytest.raises(TransportError, match="expected a promise"):
        box.take((0, 0, 0, 0, 0), 0)
    with pytest.raises(TransportError, match="dtypes"):
        box.expect((0, 0, 0, 0, 1), 0, (3,), np.dtype(np.complex64))
    box.limit = box.largest
    assert box.limit == 12
    with pytest.raises(TransportError, match="expected at most 12 bytes"):
        box.expect((0, 0, 0, 0, 2), 0, (4,), F4)


def test_each_arrival_is_news_once() -> None:
    box = mailbox()
    assert not box.news()
    arrive(box, 0)
    assert box.news()
    assert not box.news()


def test_an_arrival_and_an_error_wake_a_waiting_thread() -> None:
    box = mailbox()
    ready = Barrier(2)
    heard = []

    def listen() -> None:
        ready.wait(DEADLINE)
        box.listen(DEADLINE)
        heard.append(box.news())
        ready.wait(DEADLINE)
        box.listen(DEADLINE)
        with pytest.raises(TransportError, match="gone"):
            box.news()
        heard.append(True)

    listener = Thread(target=listen)
    listener.start()
    ready.wait(DEADLINE)
    arrive(box, 0)
    ready.wait(DEADLINE)
    box.fail("gone")
    listener.join(DEADLINE)
    assert heard == [True, True]
