"""Folders of labelled images in SINGA's form: train_data.bin, test_data.bin and train_mean.bin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from netpart.data.stores.mean import write_mean
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import KvWriter, open_store
from netpart.errors import DataError

TRAIN, TEST, MEAN = "train_data.bin", "test_data.bin", "train_mean.bin"

LabelledImages = tuple[NDArray[Any], NDArray[Any]]
"""Images (n, ...) uint8 and labels (n,) integer."""


def write_images(path: Path, images: NDArray[Any], labels: NDArray[Any]) -> None:
    """Write a kvfile with one RecordProto per image; the key is the number of the image in eight digits."""
    with KvWriter(path) as writer:
        for i, (image, label) in enumerate(zip(images, labels.tolist(), strict=True)):
            writer.put(b"%08d" % i, encode_record(Record.from_array(image, label)))


def write_image_folder(folder: Path, train: LabelledImages, test: LabelledImages, replace: bool = True) -> None:
    """Write both stores and the mean of the training images. Each file is written atomically.

    With ``replace`` False, only missing files are written.
    """
    files: dict[str, Callable[[Path], None]] = {
        TEST: lambda path: write_images(path, *test),
        MEAN: lambda path: write_mean(path, train[0].mean(axis=0)),
        TRAIN: lambda path: write_images(path, *train),
    }
    for name, write in files.items():
        if replace or not (folder / name).exists():
            write(folder / name)


def has_image_stores(folder: Path, train: int, test: int) -> bool:
    """True if the folder has a mean file and whole stores with ``train`` and ``test`` records."""
    try:
        return [_count_records(folder / name) for name in (TRAIN, TEST, MEAN)] == [train, test, 1]
    except DataError:
        return False


def _count_records(path: Path) -> int:
    with open_store("kvfile", path) as store:
        return len(store)
