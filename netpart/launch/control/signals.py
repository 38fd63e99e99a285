"""Signals that end a process: each of them is raised in it as Interrupted, so that its owners clean up.

listening   until the block ends, every signal that would end this process raises Interrupted instead
held_back   a signal that comes in the block is raised at its end: what must not be left half done
"""

from __future__ import annotations

import faulthandler
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from time import monotonic
from typing import Any

from netpart.errors import SignalInterrupt

UNSEEN = {"SIGKILL", "SIGSTOP"}
"""No process can answer them."""
HARMLESS = {"SIGCHLD", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH", "SIGPIPE", "SIGXFSZ"}
"""They end no Python process."""
CRASHES = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"}
"""Where memory may be broken nothing is cleaned up."""
OTHERS = {getattr(signal, name) for name in UNSEEN | HARMLESS | CRASHES if hasattr(signal, name)}
ENDING = sorted(signal.valid_signals() - OTHERS)
"""Every other signal ends a process that does not ask for it: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and so on."""
ECHO_SECONDS = 0.5
"""A signal that comes again within this time is the same one: `timeout` sends it to a process and to its group."""

Handler = Callable[[int, Any], None] | int | None


class SignalListener:
    """Hears the signals of this process. ``depth`` counts the blocks that hold them back, ``kept`` is one of these."""

    def __init__(self) -> None:
        self.depth = 0
        self.kept = 0
        self.heard = -inf

    def hear(self, number: int, _: Any) -> None:
        """The handler. SIGQUIT also shows on stderr what every thread is doing."""
        now = monotonic()
        if now - self.heard < ECHO_SECONDS:
            return
        self.heard = now
        if number == signal.SIGQUIT:
            with suppress(OSError, ValueError, AttributeError, RuntimeError):  # no stderr, or one that is no file
                faulthandler.dump_traceback(sys.stderr)
        if not self.depth:
            raise SignalInterrupt(number)
        self.kept = number


SIGNAL_LISTENER = SignalListener()


def _in_main_thread() -> bool:
    """True in the thread that Python calls handlers in."""
    return threading.current_thread() is threading.main_thread()


def take_over_signals() -> dict[int, Handler]:
    """Takes over every signal that would end this process and that nobody answers or ignores; returns what was there.

    In another thread than the main one it takes none.
    """
    theirs = (signal.SIG_DFL, signal.default_int_handler)
    taken = [number for number in ENDING if signal.getsignal(number) in theirs] if _in_main_thread() else []
    return {number: signal.signal(number, SIGNAL_LISTENER.hear) for number in taken}


def ignore_taken_signals() -> None:
    """Ignores from now on what was taken over: the process has done its work and ends. Python, while it shuts down,
    would give these signals back their default, which kills."""
    for number in ENDING:
        if signal.getsignal(number) == SIGNAL_LISTENER.hear:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Takes the signals over until the block ends."""
    before = take_over_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def defer_signals(ending: bool = False) -> Iterator[None]:
    """Raises a signal that comes in the block at its end, unless the block raised something itself.

    ``ending``: the block cleans up at the end of a run; what comes then asks for no more than that.
    """
    if not _in_main_thread():
        yield
        return
    SIGNAL_LISTENER.depth += 1
    try:
        yield
    finally:
        SIGNAL_LISTENER.depth -= 1
        kept, SIGNAL_LISTENER.kept = (0, SIGNAL_LISTENER.kept) if SIGNAL_LISTENER.depth else (SIGNAL_LISTENER.kept, 0)
    if kept and not ending:
        raise SignalInterrupt(kept)
