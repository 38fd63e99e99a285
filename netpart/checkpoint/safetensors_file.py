"""One safetensors file that many processes write and read by region.

It holds whole, unpartitioned tensors, so a run resumes at any number of workers and any cut. The owner
creates the file at its final size, every process writes its own regions, and the owner, once it knows
that all are done, puts the file in place:

    owner     create ── write_region … ──────────────── finish
    others            join ── write_region … ── close ──┘
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.header import LENGTH, Header, Tensor, header_length, parse_header, write_header
from netpart.checkpoint.runs import runs
from netpart.errors import DataError
from netpart.spec import Region, Shape, extent

_Transfer = Callable[[int, memoryview, int], int]


class _TensorFile:
    """An open safetensors file; ``tensors`` and ``metadata`` are those of its header."""

    def __init__(self, path: Path, flags: int) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, flags | os.O_CLOEXEC)
        except OSError as error:
            raise DataError(f"{path}: expected a checkpoint, got {error.strerror}; check the path") from error
        try:
            self._header = _read_header(self._descriptor)
        except (DataError, OSError) as error:
            os.close(self._descriptor)
            raise DataError(
                f"{path}: {error}; use another checkpoint, and if --resume took this one as the newest, remove it"
            ) from error

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        return self._header.tensors

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._header.metadata

    def close(self) -> None:
        """Closes the file; closing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path}, {len(self.tensors)} tensors, {self._header.size} bytes)"

    def _tensor(self, name: str, shape: Shape | None) -> Tensor:
        if name not in self.tensors:
            some = ", ".join(sorted(self.tensors)[:8]) or "none"
            raise DataError(f"{self.path}: expected tensor {name!r}, got tensors {some}; is it this net's checkpoint?")
        tensor = self.tensors[name]
        if shape is None or shape == tensor.shape:
            return tensor
        if prod(shape) != prod(tensor.shape):
            mistake = f"expected shape {shape}, got {tensor.shape}; is it this net's checkpoint?"
            raise DataError(f"{self.path}: {name}: {mistake}")
        return replace(tensor, shape=shape)

    def _transfer(self, act: _Transfer, tensor: Tensor, box: Region, array: NDArray[Any]) -> None:
        """Moves a C-contiguous array of the tensor's dtype to or from its box."""
        view, done = array.reshape(-1).view(np.uint8).data, 0
        width = tensor.item.itemsize
        for offset, length in runs(tensor.shape, box):
            part, at = view[done : done + length * width], tensor.offset + offset * width
            done += length * width
            while part:
                moved = act(self._descriptor, part, at)
                if not moved:
                    raise DataError(f"{self.path}: byte {at}: expected {len(part)} more, got the end of the file")
                part, at = part[moved:], at + moved


class Checkpoint(_TensorFile):
    """A checkpoint for reading."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, os.O_RDONLY)

    def read_region(self, name: str, box: Region, out: NDArray[Any], shape: Shape | None = None) -> None:
        """Reads a box of a tensor into ``out`` of the box's shape; float32 and float64 convert into each other.

        ``shape``: the tensor's shape as the box means it, if the file says it otherwise (same elements and order).
        Raises DataError if the tensor is missing, the box leaves it, or its kind is not that of ``out``.
        """
        tensor = self._tensor(name, shape)
        _check(f"{self.path}: {name}", tensor, box, out)
        if tensor.item.kind != out.dtype.kind:
            raise DataError(f"{self.path}: {name}: expected a tensor that fits {out.dtype}, got {tensor.dtype}")
        direct = out.flags.c_contiguous and out.dtype == tensor.item
        part = out if direct else np.empty(out.shape, tensor.item)
        self._transfer(lambda file, view, at: os.preadv(file, [view], at), tensor, box, part)
        if not direct:
            out[...] = part


class CheckpointWriter(_TensorFile):
    """A checkpoint that is being written, beside its final ``path``; made by ``create`` or ``join``."""

    def __init__(self, path: Path) -> None:
        super().__init__(partial_path(path), os.O_RDWR)
        self._final = path

    def write_region(self, name: str, box: Region, array: NDArray[Any], shape: Shape | None = None) -> None:
        """Writes a box of a tensor from an array of the box's shape and the tensor's dtype.

        ``shape``: the tensor's shape as the box means it, if the file says it otherwise (same elements and order).
        Raises DataError if the tensor is missing, the box leaves it, the dtype differs, or the disk is full.
        """
        tensor = self._tensor(name, shape)
        _check(f"{self.path}: {name}", tensor, box, array)
        if array.dtype != tensor.item:
            raise DataError(f"{self.path}: {name}: expected an array of {tensor.dtype}, got {array.dtype}")
        with _room(self._final):
            self._transfer(os.pwrite, tensor, box, np.ascontiguousarray(array, tensor.item))

    def close(self) -> None:
        """Makes what was written durable and closes the file; the owner calls ``finish`` after all have."""
        if self._descriptor >= 0:
            with _room(self._final):
                os.fsync(self._descriptor)
        super().close()

    def finish(self) -> None:
        """Puts the file in place under its final name; called by the owner after every process has closed."""
        self.close()
        os.replace(self.path, self._final)
        _sync_folder(self._final.parent)

    def abandon(self) -> None:
        """Removes what was written."""
        super().close()
        self.path.unlink(missing_ok=True)


def create(
    path: Path, tensors: Mapping[str, tuple[str, Shape]], metadata: Mapping[str, str] | None = None
) -> CheckpointWriter:
    """Starts the checkpoint that ``finish`` will put at ``path``: header written, file sized, elements 0.

    ``tensors``: name -> dtype (F64, F32, I64, I32) and shape, uncut. A partial file that an earlier run
    left is replaced. Raises DataError for another dtype, and where it cannot be written.
    """
    start, size = write_header(tensors, metadata or {})
    with _room(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_path(path).unlink(missing_ok=True)
        with open(partial_path(path), "xb") as file:
            file.write(start)
            file.truncate(size)
    return CheckpointWriter(path)


def join(path: Path) -> CheckpointWriter:
    """Opens the checkpoint that its owner has created for ``path``, to write further regions."""
    return CheckpointWriter(path)


def open_checkpoint(path: Path) -> Checkpoint:
    """Opens a checkpoint for reading. Raises DataError if it is missing, cut short or no safetensors file."""
    return Checkpoint(path)


def partial_path(path: Path) -> Path:
    """Where a checkpoint is until it is finished."""
    return path.with_name(path.name + ".partial")


@contextmanager
def _room(path: Path) -> Iterator[None]:
    """Turns what a disk that is full, or no longer there, says while ``path`` is written into a DataError."""
    try:
        yield
    except OSError as error:
        hint = "free some, and go on with --resume"
        raise DataError(f"{path}: expected room for a checkpoint, got {error.strerror}; {hint}") from error


def _read_header(descriptor: int) -> Header:
    size = os.fstat(descriptor).st_size
    length = header_length(os.pread(descriptor, LENGTH.size, 0), size)
    return parse_header(os.pread(descriptor, length, LENGTH.size), size)


def _check(who: str, tensor: Tensor, box: Region, array: NDArray[Any]) -> None:
    inside = len(box) == len(tensor.shape) and all(
        0 <= lo <= hi <= n for (lo, hi), n in zip(box, tensor.shape, strict=False)
    )
    if not inside or array.shape != extent(box):
        raise DataError(f"{who}: expected a region of shape {tensor.shape}, got {box} with an array of {array.shape}")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
