"""Repeated requests: a request that fails is sent again, at growing intervals, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Thread
from typing import TypeVar

from netpart.data.remote.failures import describe_failure, is_missing, root_failure
from netpart.data.remote.file_systems import import_libraries
from netpart.data.remote.url_path import UrlPath
from netpart.errors import DataError, NetpartError

_T = TypeVar("_T")
FIRST_PAUSE = 0.1
"""Seconds before the second request; each later pause is twice as long, up to LONGEST_PAUSE."""
LONGEST_PAUSE = 5.0
SHARE = 3
"""Of the deadline, the share 1/SHARE is the longest wait for one answer: a lost one leaves time for others."""
_STOPPED = Event()


def stop_requests() -> None:
    """Let no request of this process be repeated any more: it is about to end, and would wait for them."""
    _STOPPED.set()


def request_repeatedly(url: UrlPath, expected: str, request: Callable[[], _T], share: int = SHARE) -> _T:
    """Return what ``request`` returns; repeat it after a failure that may pass, until the deadline of ``url``.

    One answer may take 1/``share`` of the deadline. Raises FileNotFoundError if there is no such file, DataError with
    ``expected`` for other failures.
    """
    # Outside of the time for an answer: on a busy machine the import of a library takes seconds.
    import_libraries(url.protocol)
    end = time.monotonic() + url.settings.deadline
    pause = FIRST_PAUSE
    attempts = 1
    while True:
        try:
            return _call_in_time(request, min(end - time.monotonic(), url.settings.deadline / share))
        except (NetpartError, TypeError, AttributeError, LookupError):  # no failure of a server
            raise
        except Exception as error:
            # The exception of the library is not shown: its text may have a signed URL.
            late = _STOPPED.is_set() or time.monotonic() + pause >= end
            _raise_final(url, expected, error, attempts, late)
        _STOPPED.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        attempts += 1


def _raise_final(url: UrlPath, expected: str, error: Exception, attempts: int, late: bool) -> None:
    """Raise the error for a request that failed with ``error``, unless it is to be repeated."""
    if is_missing(error):
        raise FileNotFoundError(2, "nothing there", str(url)) from None
    failure = describe_failure(root_failure(error), url)
    if not failure.passing:
        raise DataError(f"{url}: expected {expected}, got {failure.got}; {failure.hint}") from None
    if late:
        tried = f"{attempts} request{'s' * (attempts > 1)} in {url.settings.deadline:g} s (data_cache.deadline)"
        raise DataError(f"{url}: expected {expected}, got {failure.got} after {tried}; {failure.hint}") from None


def _call_in_time(request: Callable[[], _T], seconds: float) -> _T:
    """Return what ``request`` returns. Raises TimeoutError if that takes more than ``seconds``."""
    found = Future[_T]()

    def answer() -> None:
        try:
            found.set_result(request())
        except BaseException as error:
            found.set_exception(error)

    # A thread that does not keep the process alive: not all libraries under fsspec have a limit of time.
    Thread(target=answer, name="remote-request", daemon=True).start()
    return found.result(max(seconds, 0.001))
