"""The line on a terminal that shows what a verb is at while it works for more than two seconds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter

from netpart.progress import listen_to_progress

SILENT, EVERY = 2.0, 0.5
"""Seconds without a line, and between two lines."""
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


class ProgressLine:
    """The line: ``text`` is the last report, ``started`` the time at which the work began."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.started = perf_counter()
        self.over = Event()

    def hear(self, text: str) -> None:
        """Keep a report for the next time that the line is written."""
        self.text = text

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

    def _write_until_over(self) -> None:
        """Write the line again and again. The first wait is longer: short work shows nothing."""
        if self.over.wait(SILENT):
            return
        while not self.over.is_set():
            text = f"{perf_counter() - self.started:.0f} s  {self.text}"
            self._write(CLEAR + text[: shutil.get_terminal_size().columns - 1])
            self.over.wait(EVERY)
        self._write(CLEAR)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
