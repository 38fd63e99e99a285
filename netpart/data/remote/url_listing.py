"""Listings of folders at URLs."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlunsplit

from netpart.data.remote.attempts import request_repeatedly
from netpart.data.remote.file_systems import file_system_of
from netpart.data.remote.url_path import UrlPath
from netpart.errors import DataError


def list_urls(url: UrlPath, suffix: str = "") -> list[UrlPath]:
    """Return the files that ``url`` names, sorted: a file, a folder (it ends in /) of files *``suffix``, or a glob.

    Raises FileNotFoundError if there are none, DataError as for reading, and for a folder on an HTTP server.
    """
    if not (url.is_dir() or "*" in url.host.path):
        return [url]
    if url.protocol in ("http", "https"):
        raise DataError(f"{url}: expected a file, got a folder of an HTTP server, which has no list; name each file")
    found = request_repeatedly(url, "a list of files", partial(_list_names, url, suffix))
    if not found:
        raise FileNotFoundError(2, "nothing there", str(url))
    return found


def _list_names(url: UrlPath, suffix: str) -> list[UrlPath]:
    system, path = file_system_of(url)
    names = system.find(path) if url.is_dir() else system.glob(path)
    return [_sibling(url, name) for name in sorted(names) if name.endswith(suffix) or not url.is_dir()]


def _sibling(url: UrlPath, name: str) -> UrlPath:
    """The URL of a file that the file system of ``url`` lists as ``name``."""
    if url.protocol == "s3" or url.protocol == "gs":
        return UrlPath(f"{url.protocol}://{name}", url.settings)
    parts = url.host
    return UrlPath(urlunsplit((parts.scheme, parts.netloc, f"/{name.lstrip('/')}", "", "")), url.settings)
