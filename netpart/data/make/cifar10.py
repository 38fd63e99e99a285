"""Conversion of CIFAR-10's binary version to stores (format: https://www.cs.toronto.edu/~kriz/cifar.html)."""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

import numpy as np

from netpart.data.make.image_store import LabelledImages, write_image_folder
from netpart.errors import DataError, os_error_text
from netpart.files import open_file, read_file
from netpart.spec import Shape

SHAPE: Shape = (3, 32, 32)
ROW = 1 + 3 * 32 * 32
"""Bytes of a record: its class, then the pixels of the red, the green and the blue channel."""
CLASSES = 10
TRAIN = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
TEST = ("test_batch.bin",)
LARGEST = 1 << 28
"""Largest number of bytes of a file; the original ones have 30 730 000."""
_BROKEN = (tarfile.TarError, EOFError, zlib.error, OSError)
_HINT = "download cifar-10-binary.tar.gz again"


def convert_cifar10(source: Path, out: Path) -> tuple[int, int]:
    """Write train_data.bin, test_data.bin and train_mean.bin into ``out`` from the archive, or its unpacked folder.

    Returns the numbers of training and test images. Raises DataError if a file is missing, truncated or not CIFAR-10.
    """
    files = _read_folder(source) if source.is_dir() else _read_archive(source)
    train, test = (_join_images(source, files, names) for names in (TRAIN, TEST))
    write_image_folder(out, train, test)
    return len(train[0]), len(test[0])


def _read_folder(folder: Path) -> dict[str, bytes]:
    """The content of those of the six files that are in a folder."""
    found = dict[str, bytes]()
    for name in (*TRAIN, *TEST):
        if (folder / name).exists():
            try:
                found[name] = read_file(folder / name, LARGEST)
            except OSError as error:
                raise DataError(
                    f"{folder / name}: expected a file of images, got {os_error_text(error)}; {_HINT}"
                ) from error
    return found


def _read_archive(path: Path) -> dict[str, bytes]:
    """The content of those of the six files that are in an archive."""
    found = dict[str, bytes]()
    try:
        with open_file(path) as file, tarfile.open(fileobj=file) as archive:
            for member in archive:
                name = Path(member.name).name
                if name in (*TRAIN, *TEST) and member.isreg() and member.size <= LARGEST:
                    content = archive.extractfile(member)
                    found[name] = content.read() if content else b""
    except _BROKEN as error:
        got = os_error_text(error) if isinstance(error, OSError) else str(error)
        raise DataError(f"{path}: expected cifar-10-binary.tar.gz, got {got or 'a broken archive'}; {_HINT}") from error
    return found


def _join_images(source: Path, files: dict[str, bytes], names: tuple[str, ...]) -> LabelledImages:
    """The images (n, 3, 32, 32) and classes (n,) of the files ``names``."""
    missing = [name for name in names if name not in files]
    if missing:
        hint = "the Python version has pickles, which netpart does not read"
        raise DataError(f"{source}: expected {missing[0]} of CIFAR-10's binary version, got none; {_HINT}; {hint}")
    for name in names:
        if not files[name] or len(files[name]) % ROW:
            got = f"{len(files[name])} bytes"
            raise DataError(f"{source}: {name}: expected records of {ROW} bytes, got {got}; {_HINT}")
    rows = np.frombuffer(b"".join(files[name] for name in names), np.uint8).reshape(-1, ROW)
    if int(rows[:, 0].max()) >= CLASSES:
        raise DataError(f"{source}: expected classes 0 to {CLASSES - 1}, got {rows[:, 0].max()}; {_HINT}")
    return rows[:, 1:].reshape(-1, *SHAPE), rows[:, 0]
