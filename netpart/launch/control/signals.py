"""Signals that end a process: each is raised in it as SignalInterrupt, so that open resources are cleaned up.

interrupt_on_signals   until the block ends, every signal that would end this process raises SignalInterrupt instead
defer_signals          a signal during the block is raised at its end: for work that must not be left half done
hear_halt_signal       until the block ends, SIGUSR1 is a request to save a checkpoint and end, and is not raised
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
"""No process can handle these."""
HARMLESS = {"SIGCHLD", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH", "SIGPIPE", "SIGXFSZ"}
"""These do not end a Python process."""
CRASHES = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"}
"""After these the memory may be corrupt, so nothing is cleaned up."""
OTHERS = {getattr(signal, name) for name in UNSEEN | HARMLESS | CRASHES if hasattr(signal, name)}
ENDING = sorted(signal.valid_signals() - OTHERS)
"""Every other signal ends a process that does not handle it: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and so on."""
ECHO_SECONDS = 0.5
"""A signal that arrives again within this time is the same one: `timeout` sends it to a process and to its group."""

HALT_SIGNAL = signal.SIGUSR1
"""Asks a run to save a checkpoint and end: batch systems can send it before their time limit."""

Handler = Callable[[int, Any], None] | int | None


class SignalListener:
    """Handler of the signals of this process.

    ``depth`` counts the active blocks that defer signals; ``kept`` is a deferred signal, 0 if no signal has come.
    ``request`` is called at HALT_SIGNAL; None: that ends the process like other signals.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.kept = 0
        self.heard = -inf
        self.request: Callable[[], None] | None = None

    def hear(self, number: int, _: Any) -> None:
        """The signal handler. SIGQUIT also prints on stderr what every thread is doing."""
        if number == HALT_SIGNAL and self.request is not None:
            self.request()
            return
        now = monotonic()
        if now - self.heard < ECHO_SECONDS:
            return
        self.heard = now
        if number == signal.SIGQUIT:
            with suppress(OSError, ValueError, AttributeError, RuntimeError):  # no stderr, or one that is not a file
                faulthandler.dump_traceback(sys.stderr)
        if not self.depth:
            raise SignalInterrupt(number)
        self.kept = number


SIGNAL_LISTENER = SignalListener()


def _in_main_thread() -> bool:
    """True in the thread in which Python calls handlers."""
    return threading.current_thread() is threading.main_thread()


def take_over_signals() -> dict[int, Handler]:
    """Handle every signal that would end this process and that is neither handled nor ignored; return the previous
    handlers.

    In any thread other than the main one it does nothing.
    """
    theirs = (signal.SIG_DFL, signal.default_int_handler)
    taken = [number for number in ENDING if signal.getsignal(number) in theirs] if _in_main_thread() else []
    return {number: signal.signal(number, SIGNAL_LISTENER.hear) for number in taken}


def ignore_taken_signals() -> None:
    """Ignore the handled signals from now on, as the process has done its work and ends.

    Otherwise Python would restore their default handlers while it shuts down, and a signal would then kill the process.
    """
    for number in ENDING:
        if signal.getsignal(number) == SIGNAL_LISTENER.hear:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Handle the signals until the block ends."""
    before = take_over_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hear_halt_signal(request: Callable[[], None]) -> Iterator[None]:
    """Call ``request`` at HALT_SIGNAL until the block ends. It must only note that it was called."""
    SIGNAL_LISTENER.request = request
    try:
        yield
    finally:
        SIGNAL_LISTENER.request = None


@contextmanager
def defer_signals(ending: bool = False) -> Iterator[None]:
    """Raise a signal that arrives in the block at its end, unless the block raised an exception itself.

    ``ending``: the block cleans up at the end of a run. A signal that arrives then asks for no more than that, so it is
    dropped.
    """
    if not _in_main_thread():
        yield
        return
    SIGNAL_LISTENER.depth += 1
    try:
        yield
    finally:
        SIGNAL_LISTENER.depth -= 1
        # Only the outermost block raises: an inner one leaves the signal to it.
        kept, SIGNAL_LISTENER.kept = (0, SIGNAL_LISTENER.kept) if SIGNAL_LISTENER.depth else (SIGNAL_LISTENER.kept, 0)
    if kept and not ending:
        raise SignalInterrupt(kept)
