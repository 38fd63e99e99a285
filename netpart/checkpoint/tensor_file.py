"""TensorFile: an open safetensors file, whose tensors are read and written by region."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.header import LENGTH, SafetensorsHeader, StoredTensor, header_length, parse_header
from netpart.checkpoint.runs import contiguous_runs
from netpart.errors import DataError, MissingData, os_error_text
from netpart.files import open_regular
from netpart.spec import Region, Shape, extent

Transfer = Callable[[int, memoryview, int], int]
OTHER = "use another checkpoint"


class TensorFile:
    """An open safetensors file; ``tensors`` and ``metadata`` are those of its header."""

    def __init__(self, path: Path, flags: int) -> None:
        self.path = path
        try:
            self._descriptor = open_regular(path, flags)
        except OSError as error:
            kind = MissingData if isinstance(error, FileNotFoundError) else DataError
            raise kind(f"{path}: expected a checkpoint, got {os_error_text(error)}; check the path") from error
        try:
            self._header = _read_header(self._descriptor)
        except (DataError, OSError) as error:
            os.close(self._descriptor)  # the caller gets no object that it could close
            found = f"expected a checkpoint, got {os_error_text(error)}" if isinstance(error, OSError) else error
            raise DataError(
                f"{path}: {found}; use another checkpoint, and if --resume took this one as the newest, remove it"
            ) from error

    @property
    def tensors(self) -> Mapping[str, StoredTensor]:
        return self._header.tensors

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._header.metadata

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path}, {len(self.tensors)} tensors, {self._header.size} bytes)"

    def tensor(self, name: str, shape: Shape | None, box: Region, array: NDArray[Any]) -> StoredTensor:
        """The tensor ``name`` in ``shape`` (None: its own), of which ``array`` holds ``box``.

        Raises DataError if the tensor is missing or has another number of elements, and if the box extends beyond it or
        does not have the array's shape.
        """
        stored = self.find_tensor(name)
        tensor = replace(stored, shape=stored.shape if shape is None else shape)
        if prod(tensor.shape) != prod(stored.shape):
            mistake = f"expected shape {shape}, got {stored.shape}; use this net's checkpoint"
            raise DataError(f"{self.path}: {name}: {mistake}")
        if not _box_fits(tensor.shape, box) or array.shape != extent(box):
            wanted = f"a region of shape {tensor.shape}"
            got = f"{box} with an array of {array.shape}"
            raise DataError(f"{self.path}: {name}: expected {wanted}, got {got}; pass a box and array that fit")
        return tensor

    def find_tensor(self, name: str) -> StoredTensor:
        """The tensor called ``name``. Raises DataError if the file has none."""
        if name not in self.tensors:
            some = ", ".join(sorted(self.tensors)[:8]) or "none"
            raise DataError(f"{self.path}: expected tensor {name!r}, got tensors {some}; use this net's checkpoint")
        return self.tensors[name]

    def transfer(self, act: Transfer, tensor: StoredTensor, box: Region, array: NDArray[Any]) -> None:
        """Move a C-contiguous array of the tensor's dtype to or from ``box``: ``act`` writes (pwrite) or reads."""
        view = array.reshape(-1).view(np.uint8).data
        done = 0
        width = tensor.item.itemsize
        for offset, length in contiguous_runs(tensor.shape, box):
            self.move(act, view[done : done + length * width], tensor.offset + offset * width)
            done += length * width

    def read(self, part: memoryview, at: int) -> None:
        """Fill ``part`` with the file's bytes from ``at`` on. Raises DataError if the file has fewer."""
        self.move(self.fetch, part, at)

    def fetch(self, file: int, view: memoryview, at: int) -> int:
        """Read once at offset ``at``; return the bytes read, maybe fewer than asked. Raises DataError on failure."""
        try:
            return os.preadv(file, [view], at)
        except OSError as error:
            got = os_error_text(error)
            raise DataError(f"{self.path}: byte {at}: expected {len(view)} more, got {got}; {OTHER}") from error

    def move(self, act: Transfer, part: memoryview, at: int) -> None:
        """Move all of ``part``. Raises DataError at the end of the file."""
        # One call of the system may move fewer bytes: on Linux at most 2 GiB, and less after a signal.
        while part:
            moved = act(self._descriptor, part, at)
            if not moved:
                got = "the end of the file"
                raise DataError(f"{self.path}: byte {at}: expected {len(part)} more, got {got}; {OTHER}")
            part = part[moved:]
            at = at + moved


def _read_header(descriptor: int) -> SafetensorsHeader:
    size = os.fstat(descriptor).st_size
    length = header_length(os.pread(descriptor, LENGTH.size, 0), size)
    return parse_header(os.pread(descriptor, length, LENGTH.size), size)


def _box_fits(shape: Shape, box: Region) -> bool:
    """True if a box lies within a tensor of ``shape``."""
    inside = (0 <= lo <= hi <= n for (lo, hi), n in zip(box, shape, strict=False))
    return len(box) == len(shape) and all(inside)
