"""Arrays of an HDF5 file, read by h5py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from netpart.data.arrays.row_array import RowArray
from netpart.data.open_bytes import open_stream
from netpart.data.remote.url_path import DataPath
from netpart.errors import LONGEST, DataError, NetpartError

MAGIC = b"\x89HDF\r\n\x1a\n"
_BROKEN = (OSError, RuntimeError, ValueError, KeyError, TypeError, NotImplementedError, OverflowError, MemoryError)
"""What h5py raises for damaged files, by where the library notices it."""


def hdf5_names(path: DataPath) -> list[str]:
    """The names of the arrays of a file, in its groups as well, sorted. Links to other files do not count."""
    with _read_errors(str(path)):
        found = list[str]()
        with ExitStack() as stack:
            file = _open_hdf5(path, stack)
            file.visititems(lambda name, item: found.append(name) if hasattr(item, "chunks") else None)
        return sorted(found)


def open_hdf5_array(path: DataPath, name: str) -> RowArray:
    """Open the array ``name``, which the file has. Raises DataError if it is damaged, or kept in another file."""
    with _read_errors(f"{path}: {name}"), ExitStack() as stack:
        array = Hdf5Array(_open_hdf5(path, stack)[name], f"{path}: {name}")
        # The array closes the file when it is collected; an error above has closed it at once.
        finalize(array, stack.pop_all().close)
        return array


class Hdf5Array(RowArray):
    """A data set of an HDF5 file, contiguous or in chunks, with any filter that h5py has."""

    def __init__(self, dataset: Any, place: str) -> None:
        super().__init__(dataset.shape or (), dataset.dtype, place)
        # Its bytes would come from files that are opened by the library, and not by the rule of netpart.files.
        if dataset.is_virtual or dataset.external:
            raise DataError(f"{place}: expected an array in this file, got one kept in others; copy it with h5repack")
        self._dataset = dataset

    def rows(self, lo: int, hi: int) -> NDArray[Any]:
        """The rows ``lo`` to ``hi`` (excluded)."""
        with _read_errors(f"{self.place}: rows {lo} to {hi - 1}"):
            return np.asarray(self._dataset[lo:hi])


def _open_hdf5(path: DataPath, stack: ExitStack) -> Any:
    """The file, opened by the rule of netpart.files: h5py gets an open file and not a path. ``stack`` closes both."""
    try:
        h5py = import_module("h5py")
    except ImportError as error:
        raise NetpartError(f"{path}: expected h5py, got {error}; `pip install 'netpart[hdf5]'`") from error
    return stack.enter_context(h5py.File(stack.enter_context(open_stream(path)), "r"))


@contextmanager
def _read_errors(place: str) -> Iterator[None]:
    """Raise errors of h5py as DataError."""
    try:
        yield
    except _BROKEN as error:
        got = (str(error).splitlines() or ["an error"])[0][:LONGEST]
        raise DataError(f"{place}: expected a readable HDF5 file, got {got}; write it anew") from error
