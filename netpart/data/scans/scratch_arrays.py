"""ScratchArrays: arrays that are expensive to compute, kept on disk by number during the life of their owner."""

from __future__ import annotations

import os
from math import prod
from tempfile import TemporaryFile
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.errors import DataError, os_error_text
from netpart.spec import Shape

FOLDER = "/var/tmp"
"""Folder of large temporary files, unless TMPDIR is set. It is not /tmp, which may be in memory."""


class ScratchArrays:
    """Store for the first of ``count`` arrays of ``shape`` and ``dtype``, as many as fit into ``room`` bytes of disk.

    The file has no name, so that it disappears however the process ends. Several threads may use it, if they put equal
    arrays under one number. Raises DataError if the disk is full or cannot be written.
    """

    def __init__(self, count: int, shape: Shape, room: int, dtype: DTypeLike = np.float32) -> None:
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self._each = self._dtype.itemsize * prod(shape)
        self._known = [False] * min(count, room // self._each)
        self.nbytes = len(self._known) * self._each
        if self._known:
            self._file = self._opened()

    def get(self, number: int) -> NDArray[Any] | None:
        """Return array ``number``; None if it was not put, or if there is no room for it."""
        if number >= len(self._known) or not self._known[number]:
            return None
        found = np.empty(self._shape, self._dtype)
        os.preadv(self._file, [found.data], number * self._each)
        return found

    def put(self, number: int, values: NDArray[Any]) -> None:
        """Keep array ``number`` if there is room for it."""
        if number < len(self._known):
            content = np.ascontiguousarray(values, self._dtype)
            try:
                # Marked only after the write, and only if it was complete: another thread may call ``get`` meanwhile.
                self._known[number] = os.pwrite(self._file, content.data, number * self._each) == self._each
            except OSError as error:
                raise self._refused(error) from error

    def _opened(self) -> int:
        try:
            file = TemporaryFile(dir=_scratch_folder(), buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._refused(error) from error
        finalize(self, file.close)
        return file.fileno()

    def _refused(self, error: OSError) -> DataError:
        needs = f"{self.nbytes / 2**20:.1f} MiB of scans"
        hint = "set TMPDIR to a folder with more space, or lower cache_mib"
        return DataError(f"{_scratch_folder()}: expected room for {needs}, got {os_error_text(error)}; {hint}")


def _scratch_folder() -> str:
    """The folder of the files."""
    return os.environ.get("TMPDIR", FOLDER)
