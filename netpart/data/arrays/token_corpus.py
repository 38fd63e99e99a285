"""TokenCorpus: the token numbers of several files, one after another; only requested tokens are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.arrays.numpy_header import MAGIC, open_npy_array
from netpart.data.arrays.row_array import RowArray, StoredArray, scan_blocks
from netpart.data.byte_source import ByteSource
from netpart.data.corpus import OPENED
from netpart.data.open_bytes import open_bytes
from netpart.data.remote.url_path import DataPath
from netpart.errors import DataError, os_error_text

HINT = "correct the path (--set LAYER.token_conf.files=FILE, say)"
MOST = (1 << 31) - 1
"""Largest token number: tokens are int32 in a net."""


class TokenCorpus:
    """The tokens of the files at ``paths`` in that order. ``element`` is the dtype of raw files.

    Raises DataError if a file cannot be read, or is no sequence of tokens.
    """

    def __init__(self, paths: Sequence[DataPath], element: np.dtype[Any]) -> None:
        self.paths = list(paths)
        self._element = element
        self._open: dict[int, RowArray] = {}
        self._ends = list(accumulate(len(self._file(i)) for i in range(len(self.paths))))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def read(self, start: int, stop: int) -> NDArray[np.int32]:
        """Return the tokens ``start`` to ``stop`` (excluded), 0 <= start < stop <= len."""
        return np.concatenate([_as_tokens(*piece) for piece in self._pieces(start, stop)])

    def check_below(self, vocabulary: int, ignored: int | None = None) -> None:
        """Raise DataError for a token that is neither from 0 to ``vocabulary`` − 1 nor ``ignored``.

        Of very many tokens it reads blocks at even distances.
        """
        for lo, hi in scan_blocks(len(self)):
            for piece in self._pieces(lo, hi):
                _as_tokens(*piece, vocabulary, ignored)

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[RowArray, int, int]]:
        """Yield (file, first token, last token (excluded)) of each file that the range has tokens of."""
        while start < stop:
            i = bisect_right(self._ends, start)
            first = self._ends[i - 1] if i else 0
            end = min(stop, self._ends[i])
            yield self._file(i), start - first, end - first
            start = end

    def _file(self, i: int) -> RowArray:
        if i not in self._open:
            if len(self._open) >= OPENED:  # drops the file that was opened first: dicts keep their order of insertion
                self._open.pop(next(iter(self._open)))
            self._open[i] = _open_tokens(self.paths[i], self._element)
        return self._open[i]

    def __repr__(self) -> str:
        return f"TokenCorpus({len(self.paths)} files, {len(self)} tokens)"


def _open_tokens(path: DataPath, element: np.dtype[Any]) -> RowArray:
    """Open a file of tokens: .npy by its first bytes, else raw."""
    try:
        file = open_bytes(path)
    except OSError as error:
        raise DataError(f"{path}: expected a file of tokens, got {os_error_text(error)}; {HINT}") from error
    if file.read(0, min(len(MAGIC), file.size)) != MAGIC:
        return _open_raw_tokens(file, path, element)
    tokens = open_npy_array(file, str(path))
    if len(tokens.shape) != 1 or tokens.dtype.kind not in "iu":
        got = f"{tokens.dtype} of shape {tokens.shape}"
        raise DataError(f"{path}: expected tokens, whole numbers on one axis, got {got}; save x.ravel()")
    return tokens


def _open_raw_tokens(file: ByteSource, path: DataPath, element: np.dtype[Any]) -> RowArray:
    size = element.itemsize
    if not file.size or file.size % size:
        hint = "set token_conf.element to the type with which it was written, or write it anew"
        raise DataError(f"{path}: expected tokens of {size} bytes each, got {file.size} bytes; {hint}")
    return StoredArray(file, 0, (file.size // size,), element, str(path))


def _as_tokens(
    file: RowArray, lo: int, hi: int, vocabulary: int | None = None, ignored: int | None = None
) -> NDArray[np.int32]:
    """The tokens ``lo`` to ``hi`` (excluded) of a file. Raises DataError for one that is neither below ``vocabulary``
    nor ``ignored``."""
    values = file.rows(lo, hi)
    most = MOST if vocabulary is None else vocabulary - 1
    if int(values.max()) > most or int(values.min()) < 0:
        wrong = (values > most) | (values < 0)
        if ignored is not None and ignored >= 0:  # no token is negative
            wrong &= values != ignored
        if not wrong.any():
            return values.astype(np.int32)
        at = int(np.argmax(wrong))
        hint = "set vocab_size of the embedding to the tokenizer's, or check token_conf.element"
        raise DataError(f"{file.place}: token {lo + at}: expected a number from 0 to {most}, got {values[at]}; {hint}")
    return values.astype(np.int32)
