"""What went wrong with a request, from the exceptions of the libraries that fsspec uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from netpart.data.remote.tls_mismatch import find_tls_mismatch
from netpart.data.remote.url_path import CREDENTIALS, UrlPath

_PASSING = (408, 425, 429)
"""HTTP statuses below 500 that a later request may not get."""
_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError", "DefaultCredentialsError")
_ENDED = (
    "ClientPayloadError",
    "ChunkedEncodingError",
    "IncompleteRead",
    "IncompleteReadError",
    "ResponseStreamingError",
)
"""Errors of the libraries for an answer that is shorter than it announced."""
_LONGEST = 120


class ShortAnswer(Exception):
    """Fewer bytes than requested."""


class SurplusAnswer(Exception):
    """More bytes than requested."""


class MissingUrl(FileNotFoundError):
    """There is no such file or folder at a URL. ``hint`` is the next step, "" if the reader knows a better one."""

    def __init__(self, url: UrlPath, got: str = "nothing there", hint: str = "") -> None:
        super().__init__(2, got, str(url))
        self.hint = hint


@dataclass(frozen=True)
class RequestFailure:
    """A failed request: the words after "got", the next step, and whether a later request may succeed.

    ``unreached``: there was no connection to the server, or no answer, so the same holds for all its files.
    """

    got: str
    hint: str = ""
    passing: bool = False
    unreached: bool = False


def describe_failure(error: BaseException, url: UrlPath) -> RequestFailure:
    """The failure that ``error`` of a request for ``url`` stands for."""
    if isinstance(error, SurplusAnswer):
        hint = "its server ignores ranges: copy the file to a server that has them, or to this machine"
        return RequestFailure(str(error), hint)
    if isinstance(error, ShortAnswer) or type(error).__name__ in _ENDED:
        got = str(error) if isinstance(error, ShortAnswer) else "an answer that ended before its length"
        return RequestFailure(got, "check that the file is complete on its server", passing=True)
    if type(error).__name__ == "TooManyRedirects":
        return RequestFailure("redirects without end", "correct the URL: open it in a browser, say")
    if mismatch := find_tls_mismatch(error, url):
        return RequestFailure(*mismatch, unreached=True)
    status = _http_status(error) or (_http_status(error.__cause__) if error.__cause__ else 0)
    if status in (401, 403) or isinstance(error, PermissionError) or type(error).__name__ in _CREDENTIALS:
        return _refused_access(url, status)
    if status:
        return _http_failure(status)
    return _connection_failure(error)


def is_missing(error: BaseException) -> bool:
    """True if ``error`` reports that there is no such file."""
    if not isinstance(error, FileNotFoundError):
        return False
    # fsspec reports every failed request for the size of a file by HTTP as a missing file; its cause is the reason.
    return error.__cause__ is None or _http_status(error.__cause__) in (404, 410)


def describe_missing(error: BaseException, url: UrlPath) -> MissingUrl:
    """The error for a URL of which ``error`` reports that there is no such file."""
    if "bucket does not exist" in str(error):
        return MissingUrl(url, f"no bucket {url.host.netloc}", "correct its name, or create it")
    status = _http_status(error.__cause__) if error.__cause__ and url.protocol in ("http", "https") else 0
    return MissingUrl(url, _status_text(status), "correct the URL") if status else MissingUrl(url)


def root_failure(error: BaseException) -> BaseException:
    """The cause of ``error``, if fsspec hid it in the error of a missing file."""
    return error.__cause__ if isinstance(error, FileNotFoundError) and error.__cause__ else error


def _refused_access(url: UrlPath, status: int) -> RequestFailure:
    number = f" (HTTP {status})" if status else ""
    hint = f"set {CREDENTIALS[url.protocol]} in the environment of every worker, or ask its owner for access"
    return RequestFailure(f"no access{number}", hint)


def _http_failure(status: int) -> RequestFailure:
    passing = status >= 500 or status in _PASSING
    hint = "look at the server's state, and start the run again" if passing else "correct the URL"
    return RequestFailure(_status_text(status), hint, passing)


def _status_text(status: int) -> str:
    name = HTTPStatus(status).phrase if status in {*HTTPStatus} else "unknown"
    return f"HTTP {status} ({name})"


def _connection_failure(error: BaseException) -> RequestFailure:
    hint = "check the host's name and the network, and start the run again"
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return RequestFailure("no answer", hint, passing=True, unreached=True)
    # Addresses in the texts of libraries may have a signature after the question mark.
    said = _system_text(error) or str(error)
    text = re.sub(r"\?\S*", "?...", " ".join(said.split()))[:_LONGEST]
    return RequestFailure(text or type(error).__name__, hint, passing=True, unreached=True)


def _system_text(error: BaseException | None) -> str:
    """The text of the operating system's error that led to ``error``; "" if none did."""
    while error is not None:
        if isinstance(error, OSError) and error.strerror:
            return error.strerror
        error = error.__cause__ or error.__context__
    return ""


def _http_status(error: BaseException) -> int:
    """The HTTP status that ``error`` carries; 0 if none. aiohttp, requests and botocore have it in different places."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):
        return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    # Not the attribute ``code`` of an error with a ``status``: aiohttp warns of it.
    own = getattr(error, "status" if hasattr(error, "status") else "code", None)
    status = getattr(response, "status_code", own)
    return status if isinstance(status, int) and 400 <= status < 600 else 0
