"""SourceImages: takes the place of an input layer of images, with images that have no labels. No job names it.

``netpart predict`` writes it into the job that it sends to its workers (``layers.INTERNAL``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from netpart.data.images.image_files import ImageFiles
from netpart.data.images.unlabelled_images import find_images
from netpart.data.remote.url_path import DataPath, data_path_of, url_settings
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path
from netpart.spec import Region, Spec


@final
class SourceImages(ImagesInput):
    """Outputs data (batch, channels, height, width), without labels. image_conf has the path of what --input names."""

    confs: ClassVar[tuple[str, ...]] = ("image_conf",)
    labelled = False

    def infer(self) -> tuple[Spec, ...]:
        return RowInput.infer(self)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region,)

    def data_files(self) -> Sequence[DataPath]:
        return self.row_files()

    def row_files(self) -> Sequence[DataPath]:
        samples = self.samples()
        assert isinstance(samples, ImageFiles)
        return [data_path_of(image, url_settings(self.data_cache)) for image in samples.table.images]

    def find_samples(self) -> ImageFiles:
        conf = self.conf.image_conf
        settings = url_settings(self.data_cache)
        path = data_path(self, conf.path, self.field, "path")
        return ImageFiles(find_images(path, conf.classes, settings), settings)
