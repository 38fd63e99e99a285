"""Scratch: arrays that took long to make, kept on disk by number as long as their owner lives."""

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
"""Where large files go that are not to stay, unless TMPDIR says where: /tmp may be memory."""


class ScratchArrays:
    """The first of ``count`` arrays of ``shape`` and ``dtype``, as many as ``room`` bytes of disk hold.

    Its file has no name, so nothing is left behind however the process ends. Threads may use it at the same time, if
    under one number they put one array. Raises DataError where the disk is full or cannot be written.
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
        """The array of that number; None if it was not put, or there is no room for it."""
        if number >= len(self._known) or not self._known[number]:
            return None
        found = np.empty(self._shape, self._dtype)
        os.preadv(self._file, [found.data], number * self._each)
        return found

    def put(self, number: int, values: NDArray[Any]) -> None:
        """Keeps an array, if there is room for it."""
        if number < len(self._known):
            content = np.ascontiguousarray(values, self._dtype)
            try:
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
        hint = "let TMPDIR name a folder that has room, or lower cache_mib"
        return DataError(f"{_scratch_folder()}: expected room for {needs}, got {os_error_text(error)}; {hint}")


def _scratch_folder() -> str:
    """Where the files are."""
    return os.environ.get("TMPDIR", FOLDER)
