"""Every signal that would end a process is raised in it, once, and not in the midst of what must end as a whole."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from math import inf

import pytest

from netpart.errors import SignalInterrupt
from netpart.launch.control.signals import (
    ENDING,
    SIGNAL_LISTENER,
    defer_signals,
    ignore_taken_signals,
    interrupt_on_signals,
    take_over_signals,
)

ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU]


@pytest.fixture(autouse=True)
def nothing_was_heard() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    SIGNAL_LISTENER.heard = -inf
    yield
    assert (SIGNAL_LISTENER.depth, SIGNAL_LISTENER.kept) == (0, 0)
    assert {number: signal.getsignal(number) for number in ENDING} == before


def strike(number: int = signal.SIGINT) -> None:
    """Sends a signal to this thread, as a new one."""
    SIGNAL_LISTENER.heard = -inf
    signal.raise_signal(number)


@pytest.mark.parametrize("number", [*ENDS, signal.SIGQUIT, signal.SIGRTMIN])
def test_a_signal_is_raised(number: int) -> None:
    with interrupt_on_signals(), pytest.raises(SignalInterrupt, match=r"^interrupted") as caught:
        strike(number)
    assert caught.value.number == number
    assert isinstance(caught.value, KeyboardInterrupt)


@pytest.mark.parametrize("number", [signal.SIGCHLD, signal.SIGTSTP, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_others_are_left_alone(number: int) -> None:
    assert number not in ENDING


def test_the_same_signal_twice_is_one() -> None:
    with interrupt_on_signals():
        with pytest.raises(SignalInterrupt):
            strike(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGCONT)
        with pytest.raises(SignalInterrupt):
            strike(signal.SIGTERM)


def test_who_answers_or_ignores_a_signal_keeps_it() -> None:
    heard = list[int]()
    mine = {signal.SIGUSR1: signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))}
    mine[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt_on_signals():
            strike(signal.SIGUSR1)
            strike(signal.SIGHUP)
    finally:
        for number, handler in mine.items():
            signal.signal(number, handler)
    assert heard == [signal.SIGUSR1]


def test_a_block_is_gone_through_before() -> None:
    done = list[str]()

    def play() -> None:
        with defer_signals():
            with defer_signals():
                strike(signal.SIGTERM)
            done.append("the inner one")
        done.append("what comes after it")

    with interrupt_on_signals(), pytest.raises(SignalInterrupt, match=r"^interrupted by SIGTERM$"):
        play()
    assert done == ["the inner one"]


def test_a_block_at_the_end_asks_for_no_more() -> None:
    with interrupt_on_signals():
        with defer_signals(ending=True):
            strike()
        with defer_signals():
            pass


def fail() -> None:
    with defer_signals():
        strike()
        raise ValueError("wrong")


def test_an_error_of_the_block_goes_first() -> None:
    with interrupt_on_signals():
        with pytest.raises(ValueError, match="wrong"):
            fail()
        with defer_signals():
            pass


def test_other_threads_neither_hear_nor_hold_back() -> None:
    found = list[object]()

    def elsewhere() -> None:
        with defer_signals():
            found.append(SIGNAL_LISTENER.depth)
        found.append(take_over_signals())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [0, {}]


def test_a_command_that_is_done_hears_nothing_more() -> None:
    before = take_over_signals()
    try:
        ignore_taken_signals()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
