"""Progress of long work: what it is at, for a listener, if there is one.

Work reports where it is; it does not know who listens. A verb of the command line listens on a terminal
(``cli/progress_line.py``). Otherwise a report costs a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
ProgressListener = Callable[[str], None]
_listeners: list[ProgressListener] = []


def report_progress(text: str) -> None:
    """Report what the work is at, for example "worker 3 of 64"."""
    for listener in _listeners:
        listener(text)


def track_items(items: Iterable[T], what: str, count: int) -> Iterator[T]:
    """``items``, of which there are ``count``; reports the number of each before it is made, and until the next."""
    found = iter(items)
    for number in range(1, count + 1):
        report_progress(f"{what} {number} of {count}")
        try:
            yield next(found)
        except StopIteration:
            return


@contextmanager
def listen_to_progress(listener: ProgressListener) -> Iterator[None]:
    """Call ``listener`` with every report until the end of the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
