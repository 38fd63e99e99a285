"""Base class of inputs that read encoded images: the checks of image_conf, and the random changes."""

from __future__ import annotations

from abc import abstractmethod
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.images.encoded_image import MOST_PIXELS, EncodedImage
from netpart.data.images.image_change import ImageChange, ImageChanges
from netpart.data.images.image_rows import ImageRows
from netpart.data.images.image_samples import ImageSamples
from netpart.data.row_source import RowSource
from netpart.errors import MissingData
from netpart.kernels import philox
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.spec import INT, Region, Shape, Spec

TRAIN = 1
CHANNELS = (1, 3)
FACTORS = ("brightness", "contrast", "saturation")
FINE = 1 << 32
"""Number of places from which a random number in [0, 1) is drawn."""


class ImagesInput(RowInput):
    """Outputs data (batch, channels, height, width) and label: (batch,), (batch, labels) or (batch, places) of masks.

    The random changes of an image depend on (seed, name, step, global row) only, the order on (seed, name).
    """

    field = "image_conf"
    masked: bool = False
    """True if the job says that the images have masks."""
    several: bool = True
    """False if the job says that each image has one label."""
    _samples: ImageSamples | None = None

    @abstractmethod
    def find_samples(self) -> ImageSamples:
        """Find the samples. Raises DataError if there are none."""

    def samples(self) -> ImageSamples:
        """The samples, which are looked for once."""
        if self._samples is None:
            self._samples = self.find_samples()
        return self._samples

    def infer(self) -> tuple[Spec, ...]:
        data, _ = super().infer()
        return data, Spec((data.shape[0], *self._label_shape(data.shape[1:])), INT)

    def sample(self) -> Shape:
        conf = self.conf.image_conf
        shape = tuple(conf.shape) or (3, *self._first_image().size)
        if len(shape) != 3 or shape[0] not in CHANNELS or min(shape) < 1:
            expected = "1 or 3 channels, a height and a width"
            raise fault(self, expected, str(shape), "write shape: [3, 224, 224], say", self.field, "shape")
        if shape[1] * shape[2] > MOST_PIXELS:
            got = f"{shape[1]}x{shape[2]}"
            raise fault(self, f"at most {MOST_PIXELS} pixels", got, "write a smaller one", self.field, "shape")
        if at_least(self, 0, conf.resize, self.field, "resize") and conf.resize < max(shape[1:]):
            expected = f"a resize of {max(shape[1:])} or more, the longer side of shape"
            raise fault(self, expected, str(conf.resize), "omit it, or write a larger one", self.field, "resize")
        self._check_numbers(shape[0])
        return shape

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 2, 3)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return region, (region[0], *self.outputs[1].whole[1:])

    def records(self) -> int | None:
        return len(self.samples())

    def check_data(self, phase: int = 1) -> None:
        self.samples().require_files()
        self.image_rows(1, 0, phase).decode(0)

    def check_labels(self, classes: int, ignored: int | None = None) -> None:
        self.samples().refuse_labels(classes, ignored)

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        return self.image_rows(batch, seed, phase, dtype)

    def image_rows(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> ImageRows:
        """The rows, not read ahead; the arguments are those of ``open``."""
        conf = self.conf.image_conf
        samples = self.samples()
        order = philox.stream_key(seed, self.name, "shuffle")
        return ImageRows(
            samples,
            self.output.shape[1:],
            batch=batch,
            resize=conf.resize,
            mean=tuple(conf.mean) or (0.0,),
            std=tuple(conf.std) or (1.0,),
            order=(lambda epoch: philox.draw_permutation(order, epoch, len(samples))) if conf.shuffle else None,
            changes=self._changes(seed, phase) if phase == TRAIN else None,
            dtype=dtype,
            readers=self.read_classes,
        )

    def _label_shape(self, shape: Shape) -> Shape:
        """The shape of the labels of a row. Without the data it is the usual one."""
        if self.masked:
            return (shape[1] * shape[2],)
        if not self.several:
            return ()
        try:
            labels = self.samples().labels
        except MissingData:
            return ()
        if labels is None:
            return (shape[1] * shape[2],)
        return (labels.shape[1],) if labels.shape[1] > 1 else ()

    def _first_image(self) -> EncodedImage:
        return EncodedImage(self.samples().image(0), self.samples().place(0))

    def _check_numbers(self, channels: int) -> None:
        conf = self.conf.image_conf
        if not 0 < conf.least_area <= 1:
            hint = "write the smallest share of an image, 0.08 say"
            raise fault(self, "0 < least_area <= 1", f"{conf.least_area:g}", hint, self.field, "least_area")
        for name in FACTORS:
            if not 0 <= getattr(conf, name) <= 1:
                got = f"{getattr(conf, name):g}"
                raise fault(self, f"0 <= {name} <= 1", got, "write how far a factor is from 1", self.field, name)
        for name in ("mean", "std"):
            values = getattr(conf, name)
            least = 0 if name == "std" else float("-inf")
            if len(values) not in (0, 1, channels) or not all(isfinite(v) and v > least for v in values):
                expected = f"1 or {channels} numbers{' above 0' if name == 'std' else ''}"
                raise fault(self, expected, str(list(values)), "write one per channel", self.field, name, 0)

    def _changes(self, seed: int, phase: int) -> ImageChanges:
        """The function that draws the changes of rows."""
        conf = self.conf.image_conf

        def draw_changes(step: int, lo: int, hi: int) -> list[ImageChange]:
            def draw(purpose: str, wanted: Any = True) -> list[float]:
                # One stream per purpose: switching one option on leaves the draws of the others as they are.
                key = philox.stream_key(seed, self.name, purpose)
                drawn = philox.draw_integers(key, step, phase, (lo, hi), FINE) if wanted else [FINE // 2] * (hi - lo)
                return [number / FINE for number in drawn]

            def factors(name: str) -> list[float]:
                most = getattr(conf, name)
                return [1 + most * (2 * number - 1) for number in draw(name, most)]

            least = conf.least_area
            areas = [None if least == 1 else least + (1 - least) * number for number in draw("area", least < 1)]
            mirrors = [number >= 0.5 and conf.mirror for number in draw("flip", conf.mirror)]
            columns = draw("top"), draw("left"), areas, draw("aspect", least < 1), mirrors, *map(factors, FACTORS)
            return [ImageChange(*each) for each in zip(*columns, strict=True)]

        return draw_changes
