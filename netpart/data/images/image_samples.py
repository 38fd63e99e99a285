"""ImageSamples: the base class of sets of encoded images with labels or masks."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from netpart.errors import DataError


class ImageSamples(ABC):
    """Encoded images by number. They have labels, (samples, labels per sample), or masks if ``labels`` is None."""

    labels: NDArray[np.int32] | None

    def refuse_labels(self, classes: int, ignored: int | None = None) -> None:
        """Raise DataError for the first label that is neither below ``classes`` nor ``ignored``."""
        if self.labels is None:
            return
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
