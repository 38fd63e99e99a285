"""Listings of folders at URLs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple
from urllib.parse import urlunsplit

from netpart.data.remote.attempts import request_repeatedly
from netpart.data.remote.file_systems import FileFacts, FolderEntry, file_system_of, list_folder
from netpart.data.remote.url_path import UrlPath
from netpart.errors import DataError

AT_ONCE = 16
"""Folders that are listed at the same time."""


class FolderTree(NamedTuple):
    """All folders and files below a folder, by their names relative to it."""

    folders: list[str]
    files: dict[str, FileFacts]


def list_urls(url: UrlPath, suffix: str = "") -> list[UrlPath]:
    """Return the files that ``url`` names, sorted: a file, a folder (it ends in /) of files *``suffix``, or a glob.

    Raises FileNotFoundError if there are none, DataError as for reading, and for a folder on an HTTP server.
    """
    if not (url.is_dir() or "*" in url.host.path):
        return [url]
    _refuse_http_folder(url, "name each file")
    found = request_repeatedly(url, "a list of files", partial(_list_names, url, suffix))
    if not found:
        raise FileNotFoundError(2, "nothing there", str(url))
    return found


def list_tree(url: UrlPath, hint: str) -> FolderTree:
    """List all files and folders below a folder. Several folders are listed at once, each in a request of its own.

    Raises FileNotFoundError if there is no such folder, DataError as for reading, and, with ``hint``, for a folder on
    an HTTP server.
    """
    _refuse_http_folder(url, hint)
    files, folders, names = dict[str, FileFacts](), list[str](), [""]
    with ThreadPoolExecutor(AT_ONCE, "listing") as threads:
        while names:
            found = list(threads.map(partial(_list_subfolder, url), names))
            entries = [
                (f"{at}{entry.name}", entry.facts) for at, each in zip(names, found, strict=True) for entry in each
            ]
            files |= {name: facts for name, facts in entries if facts is not None}
            names = [f"{name}/" for name, facts in entries if facts is None]
            folders += [name[:-1] for name in names]
    return FolderTree(folders, files)


def _list_subfolder(url: UrlPath, name: str) -> list[FolderEntry]:
    """The files and folders in the folder ``name`` of ``url``; names that begin with a dot are omitted."""
    folder = url / name if name else url
    # The whole deadline for an answer: a folder with very many files is sent in many pieces.
    found = request_repeatedly(folder, "a list of files", partial(list_folder, folder), share=1)
    return [entry for entry in found if not entry.name.startswith(".")]


def _refuse_http_folder(url: UrlPath, hint: str) -> None:
    if url.protocol in ("http", "https"):
        raise DataError(f"{url}: expected a file, got a folder of an HTTP server, which has no list; {hint}")


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
