"""Repeated requests: a request that fails is sent again, at growing intervals, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Thread
from typing import TypeVar

from netpart.data.remote.failures import RequestFailure, describe_failure, describe_missing, is_missing, root_failure
from netpart.data.remote.file_systems import import_libraries
from netpart.data.remote.tls_mismatch import server_address
from netpart.data.remote.url_path import UrlPath
from netpart.errors import DataError, NetpartError

_T = TypeVar("_T")
FIRST_PAUSE = 0.1
"""Seconds before the second request; each later pause is twice as long, up to LONGEST_PAUSE."""
LONGEST_PAUSE = 5.0
SHARE = 3
"""Of the deadline, the share 1/SHARE is the longest wait for one answer: a lost one leaves time for others."""
BRIEF = 1.0
"""Longest wait for the one answer of a server that could not be reached a deadline ago or less."""
_STOPPED = Event()
_UNREACHED = dict[str, float]()
"""Server -> until when a request to it is sent only once."""


def stop_requests() -> None:
    """Let no request of this process be repeated any more: it is about to end, and would wait for them."""
    _STOPPED.set()


def request_repeatedly(url: UrlPath, expected: str, request: Callable[[], _T], share: int = SHARE) -> _T:
    """Return what ``request`` returns; repeat it after a failure that may pass, until the deadline of ``url``.

    One answer may take 1/``share`` of the deadline. If the server could not be reached just now, the request is sent
    only once, so that a job with many files waits for one deadline in all. Raises FileNotFoundError if there is no
    such file, DataError with ``expected`` for other failures.
    """
    # Outside of the time for an answer: on a busy machine the import of a library takes seconds.
    import_libraries(url.protocol)
    server = _server_name(url)
    began = time.monotonic()
    known = began < _UNREACHED.get(server, began)
    end = began + (min(BRIEF, url.settings.deadline / share) if known else url.settings.deadline)
    pause = FIRST_PAUSE
    attempts = 1
    while True:
        try:
            found = _call_in_time(request, min(end - time.monotonic(), url.settings.deadline / share))
            _UNREACHED.pop(server, None)
            return found
        except (NetpartError, TypeError, AttributeError, LookupError):  # no failure of a server
            raise
        except Exception as error:
            # The exception of the library is not shown: its text may have a signed URL.
            late = known or _STOPPED.is_set() or time.monotonic() + pause >= end
            _raise_final(url, expected, error, attempts, late)
        _STOPPED.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        attempts += 1


def _raise_final(url: UrlPath, expected: str, error: Exception, attempts: int, late: bool) -> None:
    """Raise the error for a request that failed with ``error``, unless it is to be repeated."""
    if is_missing(error):
        raise describe_missing(error, url) from None
    failure = describe_failure(root_failure(error), url)
    if not failure.passing:
        raise _final_error(url, expected, failure, "") from None
    if late:
        limit = f"{url.settings.deadline:g} s (data_cache.deadline)"
        tried = f" after {attempts} requests in {limit}" if attempts > 1 else " after 1 request"
        raise _final_error(url, expected, failure, tried) from None


def _final_error(url: UrlPath, expected: str, failure: RequestFailure, tried: str) -> DataError:
    """The error for ``failure``; if the server could not be reached, that is noted and the error names the server."""
    error = DataError(f"{url}: expected {expected}, got {failure.got}{tried}; {failure.hint}")
    if failure.unreached:
        error.server = _server_name(url)
        _UNREACHED[error.server] = time.monotonic() + url.settings.deadline
    return error


def _server_name(url: UrlPath) -> str:
    """The server of ``url``: files of one server have the same faults of the connection."""
    # All buckets of an environment are on one server.
    return url.protocol if url.protocol == "gs" else f"{url.protocol}://{server_address(url).netloc}"


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
