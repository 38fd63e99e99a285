"""TarImages: images, labels and masks that are members of tar files, in the form of WebDataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netpart.data.images.encoded_image import LARGEST, SUFFIXES
from netpart.data.images.image_samples import ImageSamples
from netpart.data.images.tar_samples import TarForm, TarSamples, read_tar_samples
from netpart.data.open_bytes import open_data_file
from netpart.data.remote.url_path import DataPath, UrlSettings
from netpart.errors import DataError

HINT = "correct the path (--set LAYER.tar_conf.path=FILE, say)"


class TarImages(ImageSamples):
    """The samples of tar files, in order. Opening scans each file once; then samples are read by their offset.

    The scans are kept by ``settings``. Raises DataError if a file is missing, truncated or no tar file, or a sample has
    no image or no label.
    """

    def __init__(self, paths: Sequence[DataPath], form: TarForm, settings: UrlSettings | None = None) -> None:
        self._form = form
        self._files = [open_data_file(path, "a tar file", "a tar file", HINT) for path in paths]
        found = [read_tar_samples(file, form, settings) for file in self._files]
        counts = [len(each.spans) for each in found]
        if not sum(counts):
            raise DataError(f"{paths[0]}: expected samples with images ({', '.join(SUFFIXES)}), got none; {HINT}")
        self._numbers = np.repeat(np.arange(len(paths)), counts)
        self._spans = np.concatenate([each.spans for each in found])
        self._keys = np.cumsum([0, *counts[:-1]])
        self.labels = None if form.mask else _joined_labels(paths, found)

    def __len__(self) -> int:
        return len(self._numbers)

    def image(self, sample: int) -> bytes:
        return self._read(sample, 0)

    def mask(self, sample: int) -> bytes:
        return self._read(sample, 2)

    def place(self, sample: int) -> str:
        number = int(self._numbers[sample])
        return f"{self._files[number].path}: sample {sample - int(self._keys[number])}"

    def mask_place(self, sample: int) -> str:
        return f"{self.place(sample)}, {self._form.mask}"

    def _read(self, sample: int, column: int) -> bytes:
        start, stop = self._spans[sample, column : column + 2].tolist()
        if stop - start > LARGEST:
            who = self.place(sample)
            raise DataError(f"{who}: expected an image of at most {LARGEST} bytes, got {stop - start}; scale it down")
        return self._files[int(self._numbers[sample])].read(start, stop)


def _joined_labels(paths: Sequence[DataPath], found: Sequence[TarSamples]) -> NDArray[np.int32]:
    """The labels of all files. Raises DataError if their number per sample differs."""
    counts = [(path, each.labels.shape[1]) for path, each in zip(paths, found, strict=True) if len(each.spans)]
    for path, count in counts:
        if count != counts[0][1]:
            hint = "make the files alike"
            raise DataError(
                f"{path}: expected {counts[0][1]} labels per sample as in {counts[0][0]}, got {count}; {hint}"
            )
    return np.concatenate([each.labels for each in found if len(each.spans)])
