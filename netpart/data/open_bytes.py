"""The one place where data is opened: a file of this machine, or a URL."""

from __future__ import annotations

import errno
import io

from netpart.data.byte_source import ByteSource
from netpart.data.file_bytes import FileBytes
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.errors import DataError, MissingData, os_error_text
from netpart.units import bytes_text


def open_bytes(path: DataPath) -> ByteSource:
    """Open the file at ``path`` for reads by offset. Raises OSError if it cannot be opened, DataError for a URL."""
    if isinstance(path, UrlPath):
        from netpart.data.remote.url_bytes import UrlBytes

        return UrlBytes(path)
    return FileBytes(path)


def open_data_file(path: DataPath, expected: str, content: str, hint: str) -> ByteSource:
    """Open a file that is not empty.

    Raises MissingData if it is missing, DataError if it cannot be opened or is empty. The errors name the ``expected``
    file or, if it is empty, the expected ``content``; and they end in ``hint``.
    """
    try:
        file = open_bytes(path)
    except FileNotFoundError as error:
        raise missing_data(path, expected, error, hint) from None
    except OSError as error:
        raise DataError(f"{path}: expected {expected}, got {os_error_text(error)}; {hint}") from error
    if not file.size:
        file.close()
        raise DataError(f"{path}: expected {content}, got an empty file; {hint}")
    return file


def missing_data(path: DataPath | str, expected: str, error: FileNotFoundError, hint: str) -> MissingData:
    """The error for the file or folder at ``path``, which is not there; a URL may have a better hint."""
    hint = getattr(error, "hint", "") or hint
    return MissingData(f"{path}: expected {expected}, got {os_error_text(error)}; {hint}")


def open_stream(path: DataPath) -> io.BufferedReader:
    """Open the file at ``path`` as a buffered stream. Raises as ``open_bytes`` does."""
    return io.BufferedReader(ByteStream(open_bytes(path)))


def read_whole_bytes(path: DataPath, most: int) -> bytes:
    """The content of the file at ``path``. Raises as ``open_bytes`` does, and OSError for more than ``most`` bytes."""
    file = open_bytes(path)
    try:
        if file.size > most:
            raise OSError(errno.EFBIG, f"more than {bytes_text(most)}", str(path))
        return file.read(0, file.size)
    finally:
        file.close()


class ByteStream(io.RawIOBase):
    """A ByteSource as a binary stream, for libraries that read such."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__()
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        stop = min(self._at + len(buffer), self._source.size)
        found = self._source.read(min(self._at, stop), stop)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def close(self) -> None:
        self._source.close()
        super().close()
