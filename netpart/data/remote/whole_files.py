"""WholeFiles: many small files, each read at once; a server is asked for the size of each file once."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

from netpart.data.remote.file_systems import FileFacts
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.files import read_file
from netpart.units import bytes_text


class WholeFiles:
    """Files of this machine and at URLs. Several threads may read them. ``known`` are the facts of URLs by address."""

    def __init__(self, known: Mapping[str, FileFacts]) -> None:
        self._known = dict(known)

    def read(self, path: DataPath, most: int) -> bytes:
        """The content of a file. Raises OSError if it is missing or has more than ``most`` bytes, DataError for a URL
        that cannot be read."""
        return self._read_url(path, most) if isinstance(path, UrlPath) else read_file(Path(path), most)

    def _read_url(self, url: UrlPath, most: int) -> bytes:
        from netpart.data.remote.url_bytes import UrlBytes

        file = UrlBytes(url, self._known.get(url.address))
        # Kept: in later epochs the file is in the cache, and its size would be all that is requested.
        self._known[url.address] = FileFacts(file.size, file.version)
        try:
            if file.size > most:
                raise OSError(errno.EFBIG, f"more than {bytes_text(most)}", str(url))
            return file.read(0, file.size)
        finally:
            file.close()
