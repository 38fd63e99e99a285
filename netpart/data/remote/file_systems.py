"""Remote files: their sizes and ranges of their bytes, through fsspec."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

from netpart.data.remote.failures import ShortAnswer, SurplusAnswer
from netpart.data.remote.url_path import UrlPath
from netpart.errors import DataError, NetpartError

WEBHDFS_PORT = 9870
"""The port of WebHDFS since Hadoop 3, for URLs without one."""
_LIBRARIES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "hdfs": "requests",
    "webhdfs": "requests",
}
Fetch = Callable[[int, int], bytes]
"""(first byte, last byte excluded) -> these bytes; raises any exception of its libraries."""


class ServedFile(NamedTuple):
    """A file on a server: its size, what tells its versions apart ("": nothing does), and the reader of its ranges."""

    size: int
    version: str
    fetch: Fetch


def find_remote_file(url: UrlPath) -> ServedFile:
    """Ask the server for the file at ``url``. Raises exceptions of fsspec, NetpartError if a package is missing."""
    system = _file_system(url)
    path = _path_in_system(url)
    info = system.info(path)
    if info.get("type") == "directory":
        raise DataError(f"{url}: expected a file, got a folder; name a file in it")
    if info.get("size") is None:
        raise DataError(f"{url}: expected a server that gives a size, got no Content-Length; copy the file elsewhere")
    size = int(info["size"])
    return ServedFile(size, _file_version(info), _fetcher(url, system, path, size))


def file_system_of(url: UrlPath) -> tuple[Any, str]:
    """The file system of fsspec for ``url``, and the path of the URL in it. Raises as ``find_remote_file`` does."""
    return _file_system(url), _path_in_system(url)


def checked_range(found: bytes, start: int, stop: int) -> bytes:
    """Return ``found``, the answer to a request for the bytes ``start`` to ``stop``; raise if its length differs."""
    if len(found) > stop - start:
        raise SurplusAnswer(f"{len(found)} bytes")
    if len(found) < stop - start:
        raise ShortAnswer(f"{len(found)} bytes")
    return found


def _file_version(info: dict[str, Any]) -> str:
    keys = ("ETag", "etag", "VersionId", "LastModified", "Last-Modified", "modificationTime", "generation", "created")
    return " ".join(str(info[key]) for key in keys if info.get(key))


def _fetcher(url: UrlPath, system: Any, path: str, size: int) -> Fetch:
    if url.protocol in ("http", "https"):
        file = system.open(path, "rb", size=size)
        return partial(_fetch_http_range, file)
    if url.protocol in ("hdfs", "webhdfs"):
        # Not cat_file: it asks for the size again, and reads ahead.
        found: Fetch = system.open(path, "rb")._fetch_range
        return found
    # By name: their order differs between the file systems of fsspec.
    return lambda start, stop: bytes(system.cat_file(path, start=start, end=stop))


def _fetch_http_range(file: Any, start: int, stop: int) -> bytes:
    try:
        found: bytes = file._fetch_range(start, stop)
    except ValueError as error:  # what fsspec raises if the server sends the file from its first byte
        raise SurplusAnswer("bytes from the start of the file") from error
    return found


def _path_in_system(url: UrlPath) -> str:
    if url.protocol in ("http", "https"):
        return url.address
    if url.protocol in ("hdfs", "webhdfs"):
        return url.host.path
    return url.address.partition("://")[2] if url.protocol != "memory" else url.address


def _file_system(url: UrlPath) -> Any:
    """The file system of fsspec for ``url``, one per process, protocol and host."""
    host = url.host
    of_host = url.protocol in ("hdfs", "webhdfs")
    return _open_file_system(url.protocol, host.hostname if of_host else None, host.port, url.settings.deadline)


@cache
def _open_file_system(protocol: str, host: str | None, port: int | None, deadline: float) -> Any:
    fsspec = _import_remote("fsspec", protocol)
    _import_remote(_LIBRARIES.get(protocol, "fsspec"), protocol)
    common: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if protocol in ("http", "https"):
        return fsspec.filesystem(protocol, **common, **_http_options(deadline))
    if protocol == "s3":
        return _open_s3(fsspec, common, deadline)
    if protocol in ("hdfs", "webhdfs"):
        return _open_webhdfs(fsspec, host, port or WEBHDFS_PORT, deadline)
    return fsspec.filesystem(protocol, **common)


def _http_options(deadline: float) -> dict[str, Any]:
    aiohttp = import_module("aiohttp")
    # No limit for the whole: a download may be slow, as long as bytes arrive.
    limits = aiohttp.ClientTimeout(total=None, sock_connect=deadline, sock_read=deadline)
    # trust_env: proxies and .netrc. Compressed answers would have other lengths than the ranges.
    return {"client_kwargs": {"timeout": limits, "trust_env": True}, "headers": {"Accept-Encoding": "identity"}}


def _open_s3(fsspec: Any, common: dict[str, Any], deadline: float) -> Any:
    limits = {"connect_timeout": deadline, "read_timeout": deadline, "retries": {"max_attempts": 1}}
    system = fsspec.filesystem("s3", **common, config_kwargs=limits)
    system.retries = 1  # requests are repeated by ``attempts``, which knows the deadline
    return system


def _open_webhdfs(fsspec: Any, host: str | None, port: int, deadline: float) -> Any:
    user, token = os.environ.get("HADOOP_USER_NAME"), os.environ.get("HADOOP_TOKEN")
    system = fsspec.filesystem("webhdfs", host=host, port=port, user=user, token=token, skip_instance_cache=True)
    session = system.session
    session.request = partial(session.request, timeout=deadline)
    # fsspec does not look at the status of the second of the two answers to a read.
    session.hooks["response"].append(_refuse_failed_answer)
    return system


def _refuse_failed_answer(answer: Any, *_: Any, **__: Any) -> None:
    """Raise the error of an answer of requests with a status of 500 or more."""
    if answer.status_code >= 500:
        answer.close()
        answer.raise_for_status()


def _import_remote(library: str, protocol: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        package = "gcsfs" if library == "gcsfs" else "'netpart[remote]'"
        raise NetpartError(f"{protocol}://: expected {library}, got {error}; `pip install {package}`") from error
