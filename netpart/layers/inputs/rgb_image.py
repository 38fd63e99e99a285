"""kRGBImage (deprecated: use kRecordInput and kImagePreprocess): images of records, cropped, mirrored and scaled."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.stores.decode import Decode, record_decoder, record_shape
from netpart.data.stores.mean import read_mean
from netpart.data.stores.rows import RowReader
from netpart.data.stores.store import open_store
from netpart.errors import MissingData
from netpart.layers.checks import fault
from netpart.layers.inputs.parser import ReadRows, RecordParser
from netpart.layers.inputs.shard_data import RecordSpec
from netpart.layers.inputs.stores import data_path
from netpart.layers.part import Call
from netpart.layers.square_crops import SquareCrops, square_side
from netpart.spec import Shape, Spec


@final
class RGBImage(RecordParser):
    """Output (batch, channels, s, s): (x − mean of meanfile) · scale of a square out of each image.

    The shape of an image is that of the first record. The squares are those of kImagePreprocess.
    """

    types: ClassVar[tuple[str, ...]] = ("kRGBImage",)
    confs: ClassVar[tuple[str, ...]] = ("rgbimage_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = self.records()
        self.stored = self._stored_shape(source)
        self.side = square_side(self, self.stored[1:])
        return (Spec((source.rows, self.stored[0], self.side, self.side)),)

    def check_data(self, phase: int = 1) -> None:
        self.mean()

    def decoder(self, dtype: DTypeLike) -> Decode:
        return record_decoder(self.stored)

    def reading(self, call: Call, dtype: DTypeLike) -> ReadRows:
        box = ((0, self.stored[0]), (0, self.side), (0, self.side))
        crops = SquareCrops(self, call, self.stored[1:], self.side, box)
        lo, hi = call.region[0]
        whole = np.empty((hi - lo, *self.stored), dtype)
        mean = self.mean().astype(dtype)

        def read(reader: RowReader, step: int, first: int, last: int, out: Any) -> None:
            reader.read(step, first, last, whole, None)
            np.subtract(whole, mean, out=whole)
            crops.cut(step, whole, out)

        return read

    def mean(self) -> NDArray[Any]:
        """The mean of meanfile, or 0. Raises DataError if it does not fit the images."""
        name = self.conf.rgbimage_conf.meanfile
        return read_mean(data_path(self, name, "rgbimage_conf", "meanfile"), self.stored) if name else np.zeros(())

    def _stored_shape(self, source: RecordSpec) -> Shape:
        """The shape of the image in the first record."""
        if source.path is None:
            raise fault(self, "a source with a file, for the shape of its images", "none", "", "srclayers", 0)
        side = self.conf.rgbimage_conf.cropsize
        try:
            with open_store("kvfile", source.path) as store:
                shape = record_shape(store)
        except MissingData:
            if side < 1:
                raise
            return (3, side, side)  # to plan a net without its data: the shape of the output is known
        if len(shape) != 3:
            hint = "use kMnist for grey images, or store images of three axes"
            raise fault(self, "records of shape (channels, height, width)", str(shape), hint, "srclayers", 0)
        return shape
