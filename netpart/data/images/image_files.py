"""ImageFiles: images, labels and masks in files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netpart.data.images.encoded_image import LARGEST
from netpart.data.images.image_folder import read_class_folders, read_masked_folder
from netpart.data.images.image_samples import ImageSamples
from netpart.data.images.image_table import ImageTable, read_image_list
from netpart.errors import DataError, os_error_text
from netpart.files import read_file


class ImageFiles(ImageSamples):
    """The samples of ``table``. A file is opened when its row is read."""

    def __init__(self, table: ImageTable) -> None:
        self.table = table
        self.labels = table.labels

    def __len__(self) -> int:
        return len(self.table.images)

    def image(self, sample: int) -> bytes:
        return _read_picture(self.table.images[sample], self.place(sample))

    def mask(self, sample: int) -> bytes:
        return _read_picture((self.table.masks or [])[sample], self.mask_place(sample))

    def place(self, sample: int) -> str:
        return self.table.places[sample]

    def mask_place(self, sample: int) -> str:
        return (self.table.masks or [])[sample]


def read_image_table(path: Path, classes: Sequence[str] = (), masks: Path | None = None) -> ImageTable:
    """Read the table of a folder (of classes or, with ``masks``, of images), or of a list.

    Raises DataError if it has no images, or masks and labels.
    """
    if path.is_dir():
        return read_masked_folder(path, masks) if masks else read_class_folders(path, classes)
    table = read_image_list(path)
    for name, given in (("masks", masks), ("classes", classes)):
        if given:
            hint = "write the masks as a column `mask`, or omit it" if name == "masks" else "omit it"
            raise DataError(f"{path}: expected a folder of images with image_conf.{name}, got a list; {hint}")
    return table


def _read_picture(path: str, who: str) -> bytes:
    """The bytes of a file. Raises DataError if it is missing, no regular file, or too large."""
    try:
        return read_file(Path(path), LARGEST)
    except OSError as error:
        raise DataError(
            f"{who}: expected an image, got {os_error_text(error)}; correct the path or the file"
        ) from error
