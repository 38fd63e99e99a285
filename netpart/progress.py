"""Progress of long work: what it is at, and how much of it is done, for a listener, if there is one.

Work reports where it is; it does not know who listens. A verb of the command line listens on a terminal
(``cli/progress_line.py``). Otherwise a report costs a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
ProgressListener = Callable[[str, float | None], None]
"""Takes what the work is at, and the share of it that is done, 0..1, or None if that is not known."""
_listeners: list[ProgressListener] = []


def report_progress(text: str, done: float | None = None) -> None:
    """Report what the work is at, for example "worker 3 of 64", and the share ``done`` of all such work."""
    for listener in _listeners:
        listener(text, done)


def track_items(items: Iterable[T], what: str, count: int | None = None) -> Iterator[T]:
    """``items``, of which there are ``count``; reports the number of each before it is made, and until the next.

    ``count`` is that of ``items`` by default; of those that do not know it, only the number is reported.
    """
    total = len(items) if count is None and isinstance(items, Sized) else count
    found = iter(items)
    number = 0
    while total is None or number < total:
        number += 1
        report_progress(f"{what} {number}" + (f" of {total}" if total else ""), (number - 1) / total if total else None)
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
