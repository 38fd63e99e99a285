"""ImageSamples: the base class of sets of encoded images with labels or masks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netpart.data.images.encoded_image import EncodedImage
from netpart.data.images.image_crop import ImageCrop
from netpart.errors import DataError

MASKS = 64
"""Number of masks that are read before a run, evenly spread."""
MASK_PIXELS = 1 << 25
"""Number of pixels after which no further one is read: these take about half a second."""
Classes = Sequence[tuple[int, int | None]]
"""Number of classes and ignored label of each reader of labels."""


def require_mask_classes(values: NDArray[np.int32], who: str, readers: Classes) -> None:
    """Raise DataError if a mask has a value that is neither a class nor ignored by one of its ``readers``."""
    for classes, ignored in readers:
        wrong = values[values >= classes]
        wrong = wrong if ignored is None else wrong[wrong != ignored]
        if wrong.size:
            got = int(wrong.max())
            hint = (
                f"write ignore_index: {got} in softmaxloss_conf of the loss if it marks no class, or correct the mask"
            )
            raise DataError(f"{who}: expected classes from 0 to {classes - 1}, got {got}; {hint}")


class ImageSamples(ABC):
    """Encoded images by number. They have labels, (samples, labels per sample), or masks if ``labels`` is None."""

    labels: NDArray[np.int32] | None

    masks_checked: int = MASKS
    """Number of masks that ``refuse_labels`` reads."""

    def require_files(self) -> None:  # noqa: B027 - samples in one file were found by reading it
        """Raise DataError if files of images or masks are missing or empty."""

    def refuse_labels(self, classes: int, ignored: int | None = None) -> None:
        """Raise DataError for the first label that is neither below ``classes`` nor ``ignored``. Of masks some are
        read."""
        if self.labels is None:
            return self._refuse_mask_values(classes, ignored)
        wrong = self.labels >= classes
        if ignored is not None:
            wrong &= self.labels != ignored
        high = np.flatnonzero(wrong.any(axis=1)).tolist()
        if high:
            expected = f"a class from 0 to {classes - 1}"
            hint = "correct it, or give the layer below the loss as many outputs as there are classes"
            raise DataError(
                f"{self.place(high[0])}: expected {expected}, got {self.labels[high[0]][wrong[high[0]]].max()}; {hint}"
            )

    def _refuse_mask_values(self, classes: int, ignored: int | None) -> None:
        left = MASK_PIXELS
        for sample in np.unique(np.linspace(0, len(self) - 1, self.masks_checked).astype(int)).tolist():
            mask = EncodedImage(self.mask(sample), self.mask_place(sample))
            whole = ImageCrop(mask.size, 0, 0, mask.size)
            require_mask_classes(mask.classes(whole, mask.size), self.mask_place(sample), [(classes, ignored)])
            left -= mask.size[0] * mask.size[1]
            if left < 0:
                return

    @abstractmethod
    def __len__(self) -> int:
        """Number of samples, at least one."""

    @abstractmethod
    def image(self, sample: int) -> bytes:
        """The encoded image. Raises DataError if it cannot be read."""

    @abstractmethod
    def mask(self, sample: int) -> bytes:
        """The encoded mask. Raises DataError if it cannot be read."""

    @abstractmethod
    def place(self, sample: int) -> str:
        """The name of the image in errors."""

    @abstractmethod
    def mask_place(self, sample: int) -> str:
        """The name of the mask in errors."""
