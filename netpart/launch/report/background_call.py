"""BackgroundCall: a value that a thread computes when it is first asked for, such as the drawing of a large graph."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """The value that ``compute`` returns, computed at most once, on a thread ``name`` of its own."""

    def __init__(self, compute: Callable[[], T], name: str) -> None:
        self._compute = compute
        self._name = name
        self._lock = Lock()
        self._found: Future[T] | None = None

    def request(self) -> Future[T]:
        """The value, or the error of computing it, once it is known. The first call starts the thread."""
        with self._lock:
            if self._found is None:
                self._found = Future()
                # A daemon: the end of the process does not wait for a value that nobody needs any more.
                Thread(target=self._fill, args=(self._found,), name=self._name, daemon=True).start()
            return self._found

    def _fill(self, found: Future[T]) -> None:
        try:
            found.set_result(self._compute())
        except BaseException as error:
            found.set_exception(error)
