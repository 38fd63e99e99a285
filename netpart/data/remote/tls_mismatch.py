"""TLS mismatches: what no later request cures, as one side speaks TLS and the other does not, or distrusts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from urllib.parse import SplitResult, urlsplit

from netpart.data.remote.url_path import UrlPath

_PLAIN = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE")
"""Reasons of ssl.SSLError if the server answers without TLS."""
_CUT = ("ConnectionResetError", "BrokenPipeError", "ServerDisconnectedError", "ConnectionClosedError", "BadStatusLine")
"""Errors of a plain request to a server that expects TLS."""
PROBE_SECONDS = 1.0


def find_tls_mismatch(error: BaseException, url: UrlPath) -> tuple[str, str] | None:
    """The words after "got" and the next step, if ``error`` of a request for ``url`` is a TLS mismatch; else None."""
    chain = list(_causes(error))
    reasons = [str(getattr(each, "reason", None) or "") for each in chain]
    where = f"set AWS_ENDPOINT_URL to {{}}://{server_address(url).netloc}" if url.protocol == "s3" else "write {}://"
    if any(reason in _PLAIN for reason in reasons):
        return "an answer without TLS", where.format("http")
    if "CERTIFICATE_VERIFY_FAILED" in reasons:
        return "a certificate that is not trusted", "name its authority in SSL_CERT_FILE, or correct the host"
    address = server_address(url)
    if address.scheme == "http" and any(type(each).__name__ in _CUT for each in chain) and _speaks_tls(address):
        return "a server that expects TLS", where.format("https")
    return None


def server_address(url: UrlPath) -> SplitResult:
    """The address of the server of ``url``; of S3 the endpoint, if the environment names one."""
    if url.protocol != "s3":
        return url.host
    return urlsplit(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or "https://s3")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """``error``, and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _speaks_tls(address: SplitResult) -> bool:
    return _answers_tls(address.hostname or "", address.port or 80)


@cache
def _answers_tls(host: str, port: int) -> bool:
    """True if the server shows a certificate. It is asked once per process."""
    import ssl

    try:
        return bool(ssl.get_server_certificate((host, port), timeout=PROBE_SECONDS))
    except (OSError, ValueError):
        return False
