"""ImageFiles: images, labels and masks in files of their own."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

import numpy as np

from netpart.data.images.encoded_image import LARGEST
from netpart.data.images.image_folder import read_class_folders, read_masked_folder
from netpart.data.images.image_samples import MASKS, ImageSamples
from netpart.data.images.image_table import ImageTable, read_image_list
from netpart.data.remote.url_path import DEFAULTS, DataPath, UrlSettings, data_path_of
from netpart.data.remote.whole_files import WholeFiles
from netpart.errors import DataError, os_error_text
from netpart.files import is_url

_FILES = 1 << 16
"""Number of samples whose files are looked for before a run, evenly spread: that takes less than a second."""
_MASKS_OF_URLS = 4


class ImageFiles(ImageSamples):
    """The samples of ``table``. A file is opened when its row is read; a URL is read by ``settings``."""

    def __init__(self, table: ImageTable, settings: UrlSettings = DEFAULTS) -> None:
        self.table = table
        self._settings = settings
        self._files = WholeFiles(table.facts)
        self.labels = table.labels
        self.masks_checked = _MASKS_OF_URLS if is_url((table.masks or [""])[0]) else MASKS

    def __len__(self) -> int:
        return len(self.table.images)

    def require_files(self) -> None:
        samples = np.unique(np.linspace(0, len(self) - 1, _FILES).astype(int)).tolist()
        for sample in samples:
            self._require_file(self.table.images[sample], self.place(sample))
            if self.table.masks:
                self._require_file(self.table.masks[sample], self.mask_place(sample))

    def image(self, sample: int) -> bytes:
        return self._read(self.table.images[sample], self.place(sample))

    def mask(self, sample: int) -> bytes:
        return self._read((self.table.masks or [])[sample], self.mask_place(sample))

    def place(self, sample: int) -> str:
        return self.table.places[sample]

    def mask_place(self, sample: int) -> str:
        return str(data_path_of((self.table.masks or [])[sample]))

    def _require_file(self, path: str, who: str) -> None:
        """Raise DataError if a file of this machine is missing or empty. Of a URL its row will tell."""
        if is_url(path):
            return
        try:
            status = os.stat(path)
            # Pipes and devices have the size 0 too. They are refused when they are opened.
            empty = stat.S_ISREG(status.st_mode) and status.st_size == 0
        except OSError as error:
            got = os_error_text(error)
            raise DataError(f"{who}: expected an image, got {got}; correct the path or the file") from error
        if empty:
            raise DataError(f"{who}: expected a PNG, JPEG or WebP image, got an empty file; copy it anew, or omit it")

    def _read(self, path: str, who: str) -> bytes:
        """The bytes of a file. Raises DataError if it is missing, no regular file, or too large."""
        place = data_path_of(path, self._settings)
        try:
            return self._files.read(place, LARGEST)
        except DataError as error:  # of a URL; ``who`` may have the line of a list as well
            raise DataError(f"{who}: {str(error).removeprefix(f'{place}: ')}") from None
        except OSError as error:
            got = os_error_text(error)
            raise DataError(f"{who}: expected an image, got {got}; correct the path or the file") from error


def read_image_table(
    path: DataPath, classes: Sequence[str] = (), masks: DataPath | None = None, settings: UrlSettings = DEFAULTS,
    complete: bool = True,
) -> ImageTable:  # fmt: skip
    """Read the table of a folder (of classes or, with ``masks``, of images), or of a list.

    ``complete``: each of the ``classes`` has a folder. Raises DataError if it has no images, or masks and labels.
    """
    if path.is_dir():
        return read_masked_folder(path, masks) if masks else read_class_folders(path, classes, complete)
    table = read_image_list(path, settings)
    for name, given in (("masks", masks), ("classes", classes)):
        if given:
            hint = "write the masks as a column `mask`, or omit it" if name == "masks" else "omit it"
            raise DataError(f"{path}: expected a folder of images with image_conf.{name}, got a list; {hint}")
    return table
