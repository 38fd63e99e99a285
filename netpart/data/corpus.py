"""Corpus: the bytes of several files, one after another, as one text; only requested bytes are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from glob import glob
from itertools import accumulate
from pathlib import Path

from netpart.data.byte_source import ByteSource
from netpart.data.open_bytes import missing_data, open_bytes
from netpart.data.remote.url_listing import list_urls
from netpart.data.remote.url_path import DEFAULTS, DataPath, UrlPath, UrlSettings, parse_url, refuse_misspelt_url
from netpart.errors import DataError, MissingData, os_error_text
from netpart.files import file_size, is_url

OPENED = 64
"""Largest number of files that a corpus keeps open."""
HINT = "correct the path (--set LAYER.text_conf.files=FILE, say), or see `netpart data --help`"


class Corpus:
    """The files at ``paths`` in that order; empty files are ignored.

    Raises DataError if a file cannot be read or is shorter than it was when the corpus was opened.
    """

    def __init__(self, paths: Sequence[DataPath]) -> None:
        sizes = [_text_file_size(path) for path in paths]
        # Empty files are dropped, so that the ends rise strictly and ``bisect_right`` finds one file for each byte.
        self.paths = [path for path, size in zip(paths, sizes, strict=True) if size]
        self._ends = list(accumulate(size for size in sizes if size))
        self._open: dict[int, ByteSource] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes ``start`` to ``stop`` (excluded) of the text, 0 <= start <= stop <= len."""
        return b"".join(self._pieces(start, stop))

    def _pieces(self, start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            file = bisect_right(self._ends, start)
            end = min(stop, self._ends[file])
            first = self._ends[file - 1] if file else 0
            yield self._file(file).read(start - first, end - first)
            start = end

    def _file(self, file: int) -> ByteSource:
        if file not in self._open:
            if len(self._open) >= OPENED:  # closes the file that was opened first: dicts keep their order of insertion
                self._open.pop(next(iter(self._open))).close()
            self._open[file] = _open_text_file(self.paths[file])
        return self._open[file]

    def __repr__(self) -> str:
        return f"Corpus({len(self.paths)} files, {len(self)} bytes)"


def find_text_files(
    name: str, suffix: str, places: Sequence[Path], hint: str = HINT, settings: UrlSettings = DEFAULTS
) -> Sequence[DataPath]:
    """Return the files that ``name`` matches, sorted, in the first of the folders ``places`` where it matches any.

    ``name`` is a file; a folder, for all files below it whose names end in ``suffix``; a glob; or a URL of these, which
    is read by ``settings``. Raises MissingData, with ``hint``, if it matches no file.
    """
    if is_url(name):
        return _find_text_urls(parse_url(name, settings), suffix)
    for place in places:
        path = place / name
        if path.exists() and not path.is_dir():
            return [path]
        found = path.rglob(f"*{suffix}") if path.is_dir() else map(Path, glob(str(path), recursive=True))
        if files := sorted({file for file in found if file.is_file()}):
            return files
    refuse_misspelt_url(name)
    ending = f", or a folder with files *{suffix}" if suffix else ""
    raise MissingData(f"{name}: expected a file, or a glob of some{ending}, got nothing there; {hint}")


def _find_text_urls(url: UrlPath, suffix: str) -> list[UrlPath]:
    try:
        return list_urls(url, suffix)
    except FileNotFoundError as error:
        raise missing_data(url, "a folder or glob of files", error, HINT) from None


def _text_file_size(path: DataPath) -> int:
    try:
        return open_bytes(path).size if isinstance(path, UrlPath) else file_size(path)
    except OSError as error:
        raise _unreadable_text(path, error) from error


def _open_text_file(path: DataPath) -> ByteSource:
    try:
        return open_bytes(path)
    except OSError as error:
        raise _unreadable_text(path, error) from error


def _unreadable_text(path: DataPath, error: OSError) -> DataError:
    return DataError(f"{path}: expected a readable text, got {os_error_text(error)}; {HINT}")
