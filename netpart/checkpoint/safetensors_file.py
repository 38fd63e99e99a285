"""Checkpoint and CheckpointWriter: one safetensors file that many processes read and write by region.

The file holds whole, unpartitioned tensors, so a run can resume with any number of workers and any partitioning. The
owner creates the file at its final size, and every process writes its own regions. Once the owner knows that all have
closed the file, and what they have written, it seals it with checksums and renames it to its final name:

    owner     create ── write_region … ──────────────────── note_written … ── seal ── place
    others            join ── write_region … ── close ── .written ──┘
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint import checksums
from netpart.checkpoint.checksums import RunningScan, TensorScan, WrittenRange
from netpart.checkpoint.gathered_writes import LARGEST, GatheredWrites
from netpart.checkpoint.header import PAGE, StoredTensor, write_header
from netpart.checkpoint.runs import range_start
from netpart.checkpoint.tensor_file import OTHER, TensorFile
from netpart.errors import FULL, DataError, StorageFailed, os_error_text
from netpart.spec import Region, Shape


class Checkpoint(TensorFile):
    """A checkpoint for reading."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, os.O_RDONLY)

    def read_region(self, name: str, box: Region, out: NDArray[Any], shape: Shape | None = None) -> None:
        """Read a box of a tensor into ``out`` of the box's shape; float32 and float64 convert into each other.

        ``shape``: the shape that ``box`` refers to, if the file stores another one (same elements and order). Raises
        DataError if the tensor is missing, the box extends beyond it, or only one of it and ``out`` has float elements.
        """
        tensor = self.tensor(name, shape, box, out)
        if tensor.item.kind != out.dtype.kind:
            raise DataError(
                f"{self.path}: {name}: expected a tensor that fits {out.dtype}, got {tensor.dtype}; {OTHER}"
            )
        direct = out.flags.c_contiguous and out.dtype == tensor.item
        part = out if direct else np.empty(out.shape, tensor.item)
        self.transfer(self.fetch, tensor, box, part)
        if not direct:
            out[...] = part

    def verify(self, wanted: Mapping[str, Collection[Shape]]) -> None:
        """Read each tensor of ``wanted`` (name -> the shapes that it may have) once and check it.

        Raises DataError for a tensor that is missing, has another shape, has integer elements, is not finite, or does
        not match its checksum. A file of another tool has no checksums: there this last check is omitted.
        """
        sums = self.saved_checksums()
        for name, shapes in wanted.items():
            self.check_shape(name, shapes)
            seen = checksums.scan_tensor(self, name)
            if seen.checksum != sums.get(name, seen.checksum):
                mistake = "expected the bytes that were saved, got others: its checksum differs"
                hint = "use another checkpoint; a tool that changes the file on purpose must also drop crc32"
                raise DataError(f"{self.path}: {name}: {mistake}; {hint}")
            if not seen.finite:
                hint = "the run that saved it had diverged: use an earlier checkpoint"
                raise DataError(f"{self.path}: {name}: expected finite numbers, got nan or infinity; {hint}")

    def saved_checksums(self) -> dict[str, int]:
        """The checksums by tensor; empty for a file of another tool. Raises DataError if they are malformed."""
        try:
            return checksums.parse_checksums(self.metadata, self.tensors)
        except DataError as error:
            raise DataError(f"{self.path}: {error}; use another checkpoint") from None

    def check_shape(self, name: str, shapes: Collection[Shape]) -> None:
        """Raise DataError unless a tensor exists, has float elements and one of ``shapes``, up to axes of extent 1.
        Another shape with as many elements is refused, as it may mean another order of the elements."""
        tensor = self.find_tensor(name)
        if tensor.item.kind != "f":
            raise DataError(f"{self.path}: {name}: expected F32 or F64, got {tensor.dtype}; {OTHER}")
        if _long_axes(tensor.shape) not in [_long_axes(shape) for shape in shapes]:
            wanted = " or ".join(str(list(shape)) for shape in sorted(set(shapes)))
            mistake = f"expected shape {wanted}, got {list(tensor.shape)}; use this net's checkpoint"
            raise DataError(f"{self.path}: {name}: {mistake}")


class CheckpointWriter(TensorFile):
    """A checkpoint that is being written to a partial file; ``create_checkpoint`` and ``join_checkpoint`` make it.

    ``written``: by tensor, what was written of it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(partial_path(path), os.O_RDWR)
        self._final = path
        self._gathered = GatheredWrites(self._descriptor)
        self.written: dict[str, list[WrittenRange]] = {}

    def write_region(self, name: str, box: Region, array: NDArray[Any], shape: Shape | None = None) -> None:
        """Write a box of a tensor from an array of the box's shape and the tensor's dtype.

        ``shape``: the shape that ``box`` refers to, if the file stores another one (same elements and order). Raises
        DataError if the tensor is missing, the box extends beyond it, the dtype differs, or the disk is full.
        """
        tensor = self.tensor(name, shape, box, array)
        if array.dtype != tensor.item:
            raise DataError(f"{self.path}: {name}: expected an array of {tensor.dtype}, got {array.dtype}; cast it")
        if array.size:
            values = np.ascontiguousarray(array, tensor.item)
            start = range_start(tensor.shape, box)
            with _checkpoint_disk_errors(self._final):
                found = (
                    self._write_rows(tensor, box, values) if start is None
                    else self._write_range(tensor, box, values, start * tensor.item.itemsize)
                )  # fmt: skip
            self.written.setdefault(name, []).append(found)

    def _write_rows(self, tensor: StoredTensor, box: Region, values: NDArray[Any]) -> WrittenRange:
        """Write a box that is several ranges of the tensor's bytes, which are not scanned."""
        self._gathered.flush()
        self.transfer(os.pwrite, tensor, box, values)
        return checksums.UNSCANNED

    def _write_range(self, tensor: StoredTensor, box: Region, values: NDArray[Any], start: int) -> WrittenRange:
        """Write a box that is one range of the tensor's bytes, from byte ``start`` on, and scan it meanwhile."""
        scan = RunningScan(tensor.item)

        def scan_and_write(file: int, part: memoryview, at: int) -> int:
            # The second call, and those after it, begin with a page of the file.
            bytes_now = np.frombuffer(part[: -at % PAGE + LARGEST], np.uint8)
            for first in range(0, len(bytes_now), checksums.BLOCK):
                scan.feed(bytes_now[first : first + checksums.BLOCK])
            self._gathered.write(bytes_now, at)
            return len(bytes_now)

        self.transfer(scan_and_write, tensor, box, values)
        return WrittenRange(start, values.nbytes, *scan.result)

    def note_written(self, name: str, found: WrittenRange) -> None:
        """Note what another process has written. Raises LookupError for another tensor, ValueError for other bytes."""
        if found.nbytes < 0 or found.start + found.nbytes > self.tensors[name].nbytes:
            raise ValueError(f"{name}: {found.nbytes} bytes from {found.start} on")
        self.written.setdefault(name, []).append(found)

    def close(self) -> None:
        """Make what was written durable and close the file; the owner calls ``finish`` after all have closed it."""
        try:
            if self._descriptor >= 0:
                with _checkpoint_disk_errors(self._final):
                    self._gathered.flush()
                    os.fsync(self._descriptor)
        finally:
            self._release()

    def _release(self) -> None:
        self._gathered.close()
        super().close()

    def seal(self) -> list[str]:
        """Write the checksums and make the file durable; the owner calls it after every process has closed the file.

        Returns the names of the tensors that are not finite.
        """
        with _checkpoint_disk_errors(self._final):
            self._gathered.flush()
        found = {name: self._find_scan(name) for name in self.tensors}
        start = min((tensor.offset for tensor in self.tensors.values()), default=0)
        with _checkpoint_disk_errors(self._final):
            # JSON decides where in the header the placeholder lies, so it is searched for.
            at = os.pread(self._descriptor, start, 0).index(checksums.PLACE) + len(checksums.PLACE) if found else 0
            os.pwrite(self._descriptor, checksums.checksums_text(found).encode(), at)
        self.close()
        return [name for name, seen in found.items() if not seen.finite]

    def _find_scan(self, name: str) -> TensorScan:
        """The scan of a whole tensor: of the ranges that were written or, if they do not tile it, of the file."""
        found = checksums.join_ranges(self.written.get(name, ()), self.tensors[name].nbytes)
        return found or checksums.scan_tensor(self, name)

    def place(self) -> None:
        """Rename the sealed file to its final name."""
        with _checkpoint_disk_errors(self._final):
            os.replace(self.path, self._final)
            _sync_folder(self._final.parent)  # only then is the new name durable

    def finish(self) -> None:
        """Seal the file and rename it to its final name."""
        self.seal()
        self.place()

    def abandon(self) -> None:
        """Remove what was written."""
        self._release()
        self.path.unlink(missing_ok=True)


def create_checkpoint(
    path: Path, tensors: Mapping[str, tuple[str, Shape]], metadata: Mapping[str, str] | None = None
) -> CheckpointWriter:
    """Create the checkpoint that ``finish`` will rename to ``path``: header written, full size, all elements 0.

    ``tensors``: name -> dtype (F64, F32, I64, I32) and shape, unpartitioned. A partial file that an earlier run left is
    replaced. Raises DataError for another dtype, and if the file cannot be written.
    """
    start, size = write_header(tensors, {**(metadata or {}), **checksums.reserve_checksums(tensors)})
    with _checkpoint_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_path(path).unlink(missing_ok=True)
        # "x" refuses a file that another run has created since the unlink: two runs must not share one.
        with open(partial_path(path), "xb") as file:
            file.write(start)
            file.truncate(size)
    return CheckpointWriter(path)


def join_checkpoint(path: Path) -> CheckpointWriter:
    """Open the checkpoint that its owner has created for ``path``, to write more of its regions."""
    return CheckpointWriter(path)


def open_checkpoint(path: Path) -> Checkpoint:
    """Open a checkpoint for reading. Raises DataError if it is missing, cut short or not a safetensors file."""
    return Checkpoint(path)


def _long_axes(shape: Shape) -> Shape:
    """``shape`` without its axes of extent 1, which do not affect the order of the elements."""
    return tuple(n for n in shape if n != 1)


def partial_path(path: Path) -> Path:
    """The path of a checkpoint that is not finished."""
    return path.with_name(path.name + ".partial")


@contextmanager
def _checkpoint_disk_errors(path: Path) -> Iterator[None]:
    """Turn an error of the disk (full, or no longer present) while ``path`` is written into a StorageFailed."""
    try:
        yield
    except OSError as error:
        hint = "free some" if error.errno in FULL else "fix that"
        wanted = "expected room for a checkpoint"
        raise StorageFailed(f"{path}: {wanted}, got {os_error_text(error)}; {hint}, and go on with --resume") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
