"""NiftiScan: a volume of a NIfTI file, read box by box, with the axes right, anterior, superior."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.gzip_length import checked_file_length, is_gzipped, refuse_short_file
from netpart.data.open_bytes import ByteStream, missing_data, open_bytes
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.errors import LONGEST, DataError, NetpartError, os_error_text
from netpart.spec import Region, Shape, size

SLAB = 1 << 22
"""Voxels per read when a whole volume is scanned."""
READ = 1 << 16
"""Bytes per read of a scan at a URL."""
NIFTI2 = (540, int.from_bytes((540).to_bytes(4, "big"), "little"))
"""The first number of a file of NIfTI-2, the length of its header, in both byte orders."""


class NiftiScan:
    """One volume of a file or URL, plain or gzipped. The header is read at once, voxels on request.

    The axes run to the right, to the front and to the top, whatever their order in the file. Raises DataError if the
    file is missing or contains no volume, NetpartError if nibabel is not installed.
    """

    def __init__(self, path: DataPath) -> None:
        self.path = path
        image = _load_nifti(path)
        if len(image.shape) < 3 or np.prod(image.shape[3:], dtype=int) != 1 or min(image.shape) < 1:
            raise DataError(f"{path}: expected a volume of three axes, got shape {image.shape}; extract one volume")
        self._proxy = image.dataobj
        self._raw = image.shape
        orientation = import_module("nibabel.orientations")
        self.file_affine: NDArray[np.float64] = image.affine
        """The affine of the axes of the file; ``affine`` is that of the axes right, anterior, superior."""
        with _raise_as_data_error(path, "an affine that turns and scales three axes"):
            self._turn = _axis_directions(orientation.io_orientation(image.affine))
            self.affine: NDArray[np.float64] = image.affine @ orientation.inv_ornt_aff(self._turn, image.shape[:3])
        self._order = np.argsort(self._turn[:, 0])
        self.shape: Shape = tuple(int(image.shape[axis]) for axis in self._order)

    def read(self, box: Region, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Read the voxels of ``box`` (one range per axis) as ``dtype``. Raises DataError if they cannot be read."""
        slices: list[Any] = [0] * len(self._raw)
        for axis, (lo, hi) in zip(self._order, box, strict=True):
            # An axis that runs the other way in the file is read from its other end; the result is reversed below.
            end = self._raw[axis]
            slices[axis] = slice(lo, hi) if self._turn[axis, 1] > 0 else slice(end - hi, end - lo)
        with _raise_as_data_error(self.path, f"{self._raw} voxels"):
            refuse_short_file(self.path, size(box) * self._proxy.dtype.itemsize)
            found = np.asarray(self._proxy[tuple(slices)], dtype)
        found = found.transpose(self._order)
        return found[tuple(slice(None, None, self._turn[axis, 1]) for axis in self._order)]

    def slabs(self, dtype: DTypeLike = np.float32) -> Iterator[NDArray[Any]]:
        """Yield all voxels, some slices of the file at a time."""
        for box in self.slab_boxes():
            yield self.read(box, dtype)

    def slab_boxes(self) -> Iterator[Region]:
        """Yield the boxes of ``slabs``."""
        # Slices along the slowest axis of the file are contiguous, so each byte is read (and unpacked) once.
        last = int(self._turn[2, 0])
        depth = max(1, SLAB * self.shape[last] // int(np.prod(self.shape)))
        box = [(0, n) for n in self.shape]
        for start in range(0, self.shape[last], depth):
            box[last] = (start, min(start + depth, self.shape[last]))
            yield tuple(box)

    def in_file_axes(self, values: NDArray[Any]) -> NDArray[Any]:
        """``values`` of all voxels, with the order and the directions of the axes of the file."""
        turned = values[tuple(slice(None, None, self._turn[axis, 1]) for axis in self._order)]
        return turned.transpose(np.argsort(self._order))


def voxel_spacing(affine: NDArray[Any]) -> tuple[float, ...]:
    """The distance of neighbouring voxels along each axis, in mm."""
    return tuple(float(step) for step in np.linalg.norm(affine[:3, :3], axis=0))


def save_volume(path: Path, values: NDArray[Any], affine: NDArray[Any]) -> None:
    """Write a volume of three axes as a NIfTI file, gzipped if its name ends in .gz. The write is atomic."""
    from netpart.data.atomic_file import atomic_file

    image = _import_nibabel().Nifti1Image(values, affine)
    content = image.to_bytes()
    with atomic_file(path) as file:
        if path.suffix == ".gz":
            # mtime=0: equal volumes become equal files.
            content = gzip.compress(content, compresslevel=1, mtime=0)
        file.write(content)


def _import_nibabel() -> Any:
    """Import the library that reads NIfTI; raise NetpartError if it is not installed."""
    try:
        return import_module("nibabel")
    except ImportError as error:
        raise NetpartError(f"NIfTI: expected nibabel, got {error}; `pip install 'netpart[mri]'`") from error


def _load_nifti(path: DataPath) -> Any:
    library = _import_nibabel()
    try:
        checked_file_length(path)  # refuses a pipe, on which nibabel would block
    except FileNotFoundError as error:
        hint = "correct the path; the paths of a table of scans count from its folder"
        raise missing_data(path, "a scan", error, hint) from None
    except OSError as error:
        got = os_error_text(error)
        raise DataError(f"{path}: expected a NIfTI file (.nii or .nii.gz), got {got}; name a readable file") from error
    with _raise_as_data_error(path, "a NIfTI file (.nii or .nii.gz)"):
        return _load_nifti_url(library, path) if isinstance(path, UrlPath) else library.load(path, mmap=False)


def _load_nifti_url(library: Any, path: UrlPath) -> Any:
    """The image at a URL; its voxels are read by ranges when they are requested."""
    stream: Any = io.BufferedReader(ByteStream(open_bytes(path)), READ)
    if is_gzipped(path):
        stream = gzip.GzipFile(fileobj=stream)
    first = int.from_bytes(stream.read(4), "little")
    stream.seek(0)
    kind = library.Nifti2Image if first in NIFTI2 else library.Nifti1Image
    return kind.from_file_map(
        {"header": library.FileHolder(fileobj=stream), "image": library.FileHolder(fileobj=stream)}, mmap=False
    )


def _axis_directions(orientation: NDArray[Any]) -> NDArray[np.int64]:
    """``orientation`` of nibabel as integers, (3, 2): per axis of the file the axis of the world, and 1 or -1.

    Raises ValueError for an axis without a direction.
    """
    if not np.isfinite(orientation).all():
        raise ValueError("an axis without a direction")
    return orientation.astype(int)


@contextmanager
def _raise_as_data_error(path: DataPath, expected: str) -> Iterator[None]:
    """Convert the exceptions of nibabel into a DataError with the path: for a damaged file it raises any type."""
    try:
        yield
    except (NetpartError, MemoryError):
        raise
    except Exception as error:
        got = os_error_text(error) if isinstance(error, OSError) else str(error) or type(error).__name__
        raise DataError(f"{path}: expected {expected}, got {got[:LONGEST]}; copy the file anew") from error
