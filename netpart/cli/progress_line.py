"""The line on a terminal that shows what a verb is at while it works for more than a second.

A verb says about every second what it does: the time before a line counts from the start of the verb, or from the end
of the line before.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from time import perf_counter
from typing import TypeVar

from netpart.progress import listen_to_progress

T = TypeVar("T")
SILENT, EVERY = 1.0, 0.5
"""Seconds without a line, and between two lines."""
LEAST = 0.02
"""Least share of the work that has to be done before the time left is estimated from it."""
CLEAR = "\r\x1b[K"
"""Returns to the start of the line and clears it."""


@contextmanager
def show_progress(first: str) -> Iterator[None]:
    """Show on stderr, if it is a terminal, what the block is at: ``first`` until it reports something else.

    The line is gone at the end of the block, so the block must not print.
    """
    if not sys.stderr.isatty():
        yield
        return
    line = ProgressLine(first)
    with listen_to_progress(line.hear), line.shown():
        yield


@contextmanager
def show_progress_until(listener: Callable[[T], None], first: str) -> Iterator[Callable[[T], None]]:
    """Show what the block is at until it calls what this yields, which passes each event to ``listener``."""
    with ExitStack() as line:
        line.enter_context(show_progress(first))

        def pass_on(event: T) -> None:
            line.close()
            listener(event)

        yield pass_on


class ProgressLine:
    """The line: ``text`` is the last report, ``started`` the time at which the work began.

    ``done`` is the share of the present part of the work, which began at ``part_started``. ``silent_from`` is the time
    at which the verb started, or its last line ended.
    """

    silent_from = perf_counter()

    def __init__(self, text: str) -> None:
        self.text = text
        self.started = self.part_started = perf_counter()
        self.done: float | None = None
        self.over = Event()

    def hear(self, text: str, done: float | None = None) -> None:
        """Keep a report for the next time that the line is written. A share that falls begins another part."""
        if done is not None and (self.done is None or done < self.done):
            self.part_started = perf_counter()
        self.text = text
        self.done = done

    def line(self, now: float) -> str:
        """What is written at the time ``now``."""
        from netpart.units import seconds_text

        left = ""
        if self.done is not None and self.done >= LEAST:
            rest = (now - self.part_started) * (1 - self.done) / self.done
            left = f", {seconds_text(round(rest))} left" if rest >= 1 else ""
        return f"{now - self.started:.0f} s  {self.text}{left}"

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Write the line until the end of the block, then clear it."""
        # A thread of its own: one step of the work may take many seconds without a report.
        thread = Thread(target=self._write_until_over, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            thread.join()
            ProgressLine.silent_from = perf_counter()

    def _write_until_over(self) -> None:
        """Write the line again and again. The first wait is longer: a short verb shows nothing."""
        if self.over.wait(max(0.0, SILENT - (self.started - self.silent_from))):
            return
        while not self.over.is_set():
            self._write(CLEAR + self.line(perf_counter())[: shutil.get_terminal_size().columns - 1])
            self.over.wait(EVERY)
        self._write(CLEAR)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
