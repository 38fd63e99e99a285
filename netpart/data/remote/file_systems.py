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
_READ = ("AWS_", "GOOGLE_", "HADOOP_", "NETRC", "STORAGE_EMULATOR_HOST")
"""First letters of the environment variables that file systems read when they are made."""
Fetch = Callable[[int, int], bytes]
"""(first byte, last byte excluded) -> these bytes; raises any exception of its libraries."""


class FileFacts(NamedTuple):
    """The size of a file on a server, and what distinguishes its versions ("": nothing does)."""

    size: int
    version: str


class FolderEntry(NamedTuple):
    """A file of a listed folder, or a folder in it (then without ``facts``), and its name there."""

    name: str
    facts: FileFacts | None


def find_file_facts(url: UrlPath) -> FileFacts:
    """Ask the server for the file at ``url``. Raises exceptions of fsspec, NetpartError if a package is missing."""
    info = _file_system(url).info(_path_in_system(url))
    if info.get("type") == "directory":
        raise DataError(f"{url}: expected a file, got a folder; name a file in it, or end the URL of a folder in /")
    if info.get("size") is None:
        raise DataError(f"{url}: expected a server that gives a size, got no Content-Length; copy the file elsewhere")
    return FileFacts(int(info["size"]), _file_version(info))


def list_folder(url: UrlPath) -> list[FolderEntry]:
    """Ask the server for the files and folders directly in a folder. Raises as ``find_file_facts`` does."""
    system, path = file_system_of(url)
    inside = path.rstrip("/")
    found = []
    for info in system.ls(inside, detail=True):
        folder, _, name = info["name"].rstrip("/").rpartition("/")
        if not name or folder.strip("/") != inside.removeprefix("memory:/").strip("/"):
            continue  # the folder itself: S3 has objects that stand for folders
        as_folder = info.get("type") == "directory"
        facts = None if as_folder else FileFacts(int(info["size"]), _file_version(info))
        found.append(FolderEntry(name, facts))
    return found


def open_ranges(url: UrlPath, size: int) -> Fetch:
    """The reader of ranges of the file at ``url``, which has ``size`` bytes. It asks its server nothing now."""
    system, path = file_system_of(url)
    if url.protocol in ("http", "https"):
        file = system.open(path, "rb", size=size)
        return partial(_fetch_http_range, file)
    if url.protocol in ("hdfs", "webhdfs"):
        # Not cat_file: it asks for the size again, and reads ahead.
        file = import_module("fsspec.implementations.webhdfs").WebHDFile(
            system, path, size=size, autocommit=True, tempdir=""
        )
        found: Fetch = file._fetch_range
        return found
    # By name: their order differs between the file systems of fsspec.
    return lambda start, stop: bytes(system.cat_file(path, start=start, end=stop))


def import_libraries(protocol: str) -> None:
    """Import what reads URLs of ``protocol``. Raises NetpartError if it is not installed."""
    _import_remote("fsspec", protocol)
    _import_remote(_LIBRARIES.get(protocol, "fsspec"), protocol)


def file_system_of(url: UrlPath) -> tuple[Any, str]:
    """The file system of fsspec for ``url``, and the path of the URL in it. Raises as ``find_file_facts`` does."""
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
        # Not the path of the parsed URL: names there may have # and ?.
        return "/" + url.address.partition("://")[2].partition("/")[2]
    return url.address.partition("://")[2] if url.protocol != "memory" else url.address


def _file_system(url: UrlPath) -> Any:
    """The file system of fsspec for ``url``, one per process, protocol, host and environment."""
    host = url.host
    of_host = url.protocol in ("hdfs", "webhdfs")
    # A file system keeps the servers and credentials of its environment, which a notebook may set later.
    environment = tuple(sorted(item for item in os.environ.items() if item[0].startswith(_READ)))
    name = host.hostname if of_host else None
    return _open_file_system(url.protocol, name, host.port, url.settings.deadline, environment)


@cache
def _open_file_system(
    protocol: str, host: str | None, port: int | None, deadline: float, environment: tuple[tuple[str, str], ...]
) -> Any:
    import_libraries(protocol)
    fsspec = import_module("fsspec")
    common: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if protocol in ("http", "https"):
        return fsspec.filesystem(protocol, **common, **_http_options(deadline))
    if protocol == "s3":
        return _open_s3(fsspec, common, deadline)
    if protocol == "gs":
        # Not the class that gcsfs registers: that one asks for the kind of the bucket, by another protocol, each time.
        return import_module("gcsfs.core").GCSFileSystem(**common)
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
        extra = "gs" if library == "gcsfs" else "remote"
        raise NetpartError(
            f"{protocol}://: expected {library}, got {error}; `pip install 'netpart[{extra}]'`"
        ) from error
