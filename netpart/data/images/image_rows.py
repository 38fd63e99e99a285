"""ImageRows: rows of encoded images, decoded by several threads, cropped, changed and scaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.images.decode_threads import map_on_threads
from netpart.data.images.encoded_image import EncodedImage
from netpart.data.images.image_change import ImageChange, ImageChanges, choose_crop, recolour
from netpart.data.images.image_samples import Classes, ImageSamples, require_mask_classes
from netpart.data.record_order import Permutation, RecordOrder
from netpart.data.row_source import RowOutputs, RowSource
from netpart.errors import DataError
from netpart.spec import Region, Shape

BRIGHTEST = 255
Task = Callable[[], None]


class ImageRows(RowSource):
    """Row r of step s is sample s·batch + r, wrapping at the end, as (channels, height, width): (x / 255 − mean) / std.

    ``resize`` is the length of the shorter side before the crop; 0: as small as the crop allows. ``changes`` draws the
    change of each row; None: the crop is the middle. ``order`` returns the order of each pass. All is computed in
    ``dtype``. Labels are one per row, several, or one per place if the samples have masks, whose classes ``readers``
    know.
    """

    def __init__(
        self, samples: ImageSamples, shape: Shape, *, batch: int, resize: int = 0,
        mean: tuple[float, ...] = (0.0,), std: tuple[float, ...] = (1.0,), order: Permutation | None = None,
        changes: ImageChanges | None = None, dtype: DTypeLike = np.float32, readers: Classes = (),
    ) -> None:  # fmt: skip
        self.shape = shape
        self._samples = samples
        self._resize = resize
        self._changes = changes
        self._readers = readers
        self._order = RecordOrder(len(samples), batch, permutation=order)
        self._dtype = np.dtype(dtype)
        self._mean = _per_channel(mean, shape[0], self._dtype)
        self._std = _per_channel(std, shape[0], self._dtype)

    def labels(self, box: Region) -> Shape:
        # Of a mask the whole, for any box: labels are not cut on places.
        if self._samples.labels is None:
            return (self.shape[1] * self.shape[2],)
        several = self._samples.labels.shape[1]
        return (several,) if several > 1 else ()

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        samples = self._order.records(step, lo, hi).tolist()
        masked = self._samples.labels is None
        if out.label is not None and self._samples.labels is not None:
            out.label[...] = self._samples.labels[samples].reshape(out.label.shape)
        if out.data is None and not masked:
            return
        changes = self._changes(step, lo, hi) if self._changes else [None] * len(samples)
        tasks = [self._row_task(*each, box, out) for each in zip(range(hi - lo), samples, changes, strict=True)]
        map_on_threads(lambda task: task(), tasks)

    def decode(self, sample: int) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """The values of a sample without a change, and its mask if it has one."""
        return self._decoded(sample, None)

    def _row_task(self, row: int, sample: int, change: ImageChange | None, box: Region, out: RowOutputs) -> Task:
        def decode_row() -> None:
            values, mask = self._decoded(sample, change)
            if out.data is not None:
                out.data[row] = values[tuple(slice(*ends) for ends in box)]
            if out.label is not None and mask is not None:
                out.label[row] = mask.reshape(-1)

        return decode_row

    def _decoded(self, sample: int, change: ImageChange | None) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """Decode the image of a sample and its mask, with the same crop."""
        picture = EncodedImage(self._samples.image(sample), self._samples.place(sample))
        target = self.shape[1], self.shape[2]
        crop = choose_crop(picture.size, target, self._resize, change)
        mask = None
        if self._samples.labels is None:
            mask = self._mask(sample, picture).classes(crop, target)
            require_mask_classes(mask, self._samples.mask_place(sample), self._readers)
        pixels = picture.pixels(crop, self.shape)
        if change is not None and change.mirror:
            pixels = pixels[:, ::-1]
            mask = None if mask is None else mask[:, ::-1]
        return self._scaled(pixels, change), mask

    def _mask(self, sample: int, picture: EncodedImage) -> EncodedImage:
        mask = EncodedImage(self._samples.mask(sample), self._samples.mask_place(sample))
        if mask.size != picture.size:
            expected, got = ("x".join(map(str, each.size[::-1])) for each in (picture, mask))
            who = f"{self._samples.mask_place(sample)}: expected {expected} pixels"
            raise DataError(f"{who}, as its image has, got {got}; make the mask anew")
        return mask

    def _scaled(self, pixels: NDArray[np.uint8], change: ImageChange | None) -> NDArray[Any]:
        """The values of pixels (height, width, channels) with changed colours, as (channels, height, width)."""
        values = np.ascontiguousarray(pixels.transpose(2, 0, 1), self._dtype)
        values /= self._dtype.type(BRIGHTEST)
        if change is not None and change.recolours:
            recolour(values, change)
        values -= self._mean
        values /= self._std
        return values


def _per_channel(values: tuple[float, ...], channels: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """One value for each channel, (channels, 1, 1)."""
    return np.broadcast_to(np.asarray(values, dtype), (channels,)).reshape(-1, 1, 1)
