"""Conversion of MNIST's IDX files to stores (format: http://yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from netpart.data.gzip_length import checked_file_length, refuse_short_file
from netpart.data.make.image_store import LabelledImages, write_image_folder
from netpart.errors import DataError, os_error_text
from netpart.files import open_file
from netpart.spec import Shape

_UINT8 = 0x08
LARGEST = 1 << 30
"""Largest number of elements of a file."""


def convert_mnist(idx_dir: Path, out: Path) -> tuple[int, int]:
    """Write train_data.bin, test_data.bin and train_mean.bin into ``out`` from the four IDX files, plain or .gz.

    Returns the numbers of training and test images. Raises DataError if a file is missing, truncated or not an IDX
    file, or if the numbers of images and labels differ.
    """
    train = _read_labelled_images(idx_dir, "train")
    test = _read_labelled_images(idx_dir, "t10k")
    write_image_folder(out, train, test)
    return len(train[0]), len(test[0])


def read_idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes with ``axes`` axes. Raises DataError if it is anything else."""
    header = 4 * (1 + axes)
    with _open_unpacked(path) as file:
        head = file.read(header) if checked_file_length(path) else b""
        if len(head) < header or head[:4] != bytes((0, 0, _UINT8, axes)):
            magic = head[:4].hex() or "an empty file"
            wanted = f"an IDX file of {axes} axes (magic 0000080{axes})"
            raise DataError(f"{path}: expected {wanted}, got {magic}; download it again")
        shape: Shape = struct.unpack_from(f">{axes}I", head, 4)
        if not 0 < prod(shape) <= LARGEST:
            raise DataError(f"{path}: expected 1 to {LARGEST} elements, got shape {shape}; download it again")
        # Before the read: a header with a wrong shape must not allocate the memory for it.
        refuse_short_file(path, prod(shape))
        content = file.read(prod(shape) + 1)  # one byte more, to detect a file that is too long
    if len(content) != prod(shape):
        got = f"{len(content)} bytes" if len(content) < prod(shape) else "more"
        raise DataError(f"{path}: expected {prod(shape)} elements for shape {shape}, got {got}; download it again")
    return np.frombuffer(content, np.uint8).reshape(shape)


@contextmanager
def _open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open the file at ``path``, unpacked if its name ends in .gz. Raises DataError, also for errors of its reads."""
    try:
        with open_file(path) as file:
            yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file
    except (OSError, EOFError, zlib.error) as error:
        got = os_error_text(error) if isinstance(error, OSError) else error
        raise DataError(f"{path}: expected a readable IDX file, got {got}; download it again") from error


def _read_labelled_images(folder: Path, part: str) -> LabelledImages:
    images, labels = (
        read_idx(_find_idx_file(folder, part, "images", 3), 3),
        read_idx(_find_idx_file(folder, part, "labels", 1), 1),
    )
    if len(images) != len(labels):
        raise DataError(
            f"{folder}: expected one label per {part} image, got {len(images)} images, {len(labels)} labels; "
            "download both files again"
        )
    return images, labels


def _find_idx_file(folder: Path, part: str, what: str, axes: int) -> Path:
    stem = f"{part}-{what}"
    names = [f"{stem}{dash}idx{axes}-ubyte{end}" for dash in "-." for end in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: expected {names[0]} or {names[1]}, got no such file; download the four files of MNIST")
