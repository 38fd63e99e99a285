"""kImageInput: images in folders or in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from netpart.data.images.image_files import ImageFiles, read_image_table
from netpart.data.images.image_folder import class_folder_names
from netpart.data.remote.url_path import DataPath, data_path_of, url_settings
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.inputs.stores import data_path
from netpart.spec import Spec


@final
class ImageInput(ImagesInput):
    """A class is a folder of images, in natural order; or a CSV file lists images with labels or masks."""

    types: ClassVar[tuple[str, ...]] = ("kImageInput",)
    confs: ClassVar[tuple[str, ...]] = ("image_conf",)

    def infer(self) -> tuple[Spec, ...]:
        conf = self.conf.image_conf
        self.masked = bool(conf.masks)
        # A folder has one label per image; it is not listed before that is necessary.
        self.several = not (conf.path and data_path(self, conf.path, self.field, "path").is_dir())
        return super().infer()

    def class_names(self) -> tuple[str, ...]:
        if self._samples is not None:
            return self.files().table.classes
        # Without the images: a check of the classes need not list all of a training set.
        conf = self.conf.image_conf
        path = data_path(self, conf.path, self.field, "path")
        return () if conf.masks or not path.is_dir() else class_folder_names(path, conf.classes)

    def data_files(self) -> Sequence[DataPath]:
        table = self.files().table
        settings = url_settings(self.data_cache)
        return [data_path_of(each, settings) for each in (*table.images, *(table.masks or ()))]

    def row_files(self) -> Sequence[DataPath]:
        settings = url_settings(self.data_cache)
        return [data_path_of(each, settings) for each in self.files().table.images]

    def files(self) -> ImageFiles:
        """The samples, as the files that they are."""
        samples = self.samples()
        assert isinstance(samples, ImageFiles)
        return samples

    def find_samples(self) -> ImageFiles:
        conf = self.conf.image_conf
        masks = data_path(self, conf.masks, self.field, "masks") if conf.masks else None
        path = data_path(self, conf.path, self.field, "path")
        settings = url_settings(self.data_cache)
        # A test set may lack a class. In training that is a set that was not copied whole.
        table = read_image_table(path, conf.classes, masks, settings, complete=self.training)
        return ImageFiles(table, settings)
