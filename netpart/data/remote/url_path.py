"""UrlPath: the address of data that is not on this machine, with what of a path its readers need."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit, urlunsplit

from netpart.errors import DataError
from netpart.files import is_url

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import DataCacheProto

_S3 = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_HTTP = "NETRC to the name of a .netrc file"
_HDFS = "HADOOP_USER_NAME, or HADOOP_TOKEN to a delegation token"
CREDENTIALS = {
    "s3": _S3,
    "gs": "GOOGLE_APPLICATION_CREDENTIALS to the name of a key file",
    "https": _HTTP,
    "http": _HTTP,
    "hdfs": _HDFS,
    "webhdfs": _HDFS,
    "memory": "nothing",
}
"""Protocols that netpart reads, and the environment variables that have the credentials of each."""

_MISSPELT = re.compile(rf"({'|'.join(CREDENTIALS)})(?::/?|//)(?!/)")


@dataclass(frozen=True)
class UrlSettings:
    """How URLs are read: bytes and folder of the cache on disk (0 bytes: no cache), and the deadline in seconds."""

    room: int = 1 << 30
    folder: Path | None = None
    deadline: float = 30.0


DEFAULTS = UrlSettings()


def url_settings(conf: DataCacheProto) -> UrlSettings:
    """The settings of a job."""
    return UrlSettings(max(conf.mib, 0) << 20, Path(conf.folder) if conf.folder else None, max(conf.deadline, 0.001))


@dataclass(frozen=True)
class UrlPath:
    """A URL. As text, and so in every message, it has no query: that of a signed URL is a credential."""

    address: str
    settings: UrlSettings = DEFAULTS

    def __str__(self) -> str:
        return urlunsplit((*self._split[:3], "", ""))

    @property
    def protocol(self) -> str:
        """The protocol, in lower case."""
        return self._split.scheme

    @property
    def host(self) -> SplitResult:
        """The parts of the URL; its ``hostname`` and ``port`` are those of the server."""
        return self._split

    @property
    def suffix(self) -> str:
        """The suffix of the file's name, with its dot."""
        return PurePosixPath(self._split.path).suffix

    @property
    def parent(self) -> UrlPath:
        """The folder of the file, without the query."""
        folder = self._split.path.rpartition("/")[0]
        return UrlPath(urlunsplit((*self._split[:2], folder, "", "")), self.settings)

    def __truediv__(self, name: str) -> UrlPath:
        folder = self._split.path.rstrip("/")
        # In the address of a server # and ? end the path; other protocols take the address as it is.
        quoted = name.replace("?", "%3F").replace("#", "%23") if self.protocol in ("http", "https") else name
        path = _without_dots(f"{folder}/{quoted}")
        return UrlPath(urlunsplit((*self._split[:2], path, "", "")), self.settings)

    def is_dir(self) -> bool:
        """True if the URL ends like that of a folder; no server is asked."""
        return self._split.path.endswith("/")

    @property
    def _split(self) -> SplitResult:
        return urlsplit(self.address)


DataPath = Path | UrlPath
"""Where data is: a file of this machine, or a URL."""


def parse_url(text: str, settings: UrlSettings = DEFAULTS) -> UrlPath:
    """Return the URL of ``text``. Raises DataError for an unknown protocol, no host, or a user or password in it."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise DataError(f"{_without_user(text)}: expected a URL, got one with a malformed host; correct it") from None
    shown = _without_user(urlunsplit((*parts[:3], "", "")))
    if parts.scheme not in CREDENTIALS:
        wanted = ", ".join(f"{name}://" for name in CREDENTIALS)
        raise DataError(f"{shown}: expected one of {wanted}, got {parts.scheme}://; copy the data to one of these")
    if "@" in parts.netloc:
        use = f"remove it, and set {CREDENTIALS[parts.scheme]} in the environment of every worker"
        raise DataError(f"{shown}: expected a URL without user and password, got one with; {use}")
    if not parts.netloc and parts.scheme != "memory":
        raise DataError(f"{shown}: expected a host or bucket after {parts.scheme}://, got none; write it")
    return UrlPath(text, settings)


def refuse_misspelt_url(text: str) -> None:
    """Raise DataError for a path, where nothing is, that looks like a URL without its slashes."""
    found = _MISSPELT.match(text)
    if found:
        right = f"{found[1]}://{text[found.end() :]}"
        raise DataError(f"{text}: expected two slashes after {found[1]}: in a URL, got others; write {right}")


def data_path_of(text: str, settings: UrlSettings = DEFAULTS) -> DataPath:
    """The path or the URL, which was checked before, that ``text`` is."""
    return UrlPath(text, settings) if is_url(text) else Path(text)


def path_text(path: DataPath) -> str:
    """The text from which ``data_path_of`` makes ``path`` again; of a URL it is no text for messages."""
    return path.address if isinstance(path, UrlPath) else str(path)


def join_data_path(folder: DataPath, name: str, settings: UrlSettings = DEFAULTS) -> DataPath:
    """Return ``name`` as a path that starts in ``folder``, or as the URL or absolute path that it is."""
    if is_url(name):
        return parse_url(name, settings)
    if isinstance(folder, UrlPath) and os.path.isabs(name):
        return Path(name)
    return folder / name


def _without_dots(path: str) -> str:
    """A path without . and .. in it: the keys of S3 are no paths, and servers do not resolve them."""
    if "/." not in path:
        return path
    parts = list[str]()
    for part in path.split("/"):
        if part == "..":
            del parts[max(len(parts) - 1, 1) :]  # not the empty part before the first slash
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _without_user(text: str) -> str:
    """A URL without its query and without what precedes an @ in its host."""
    head, mark, rest = text.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return head + mark + host.rpartition("@")[2] + slash + path
