"""kTarInput: images in tar files, in the form of WebDataset."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import ClassVar, final

from netpart.data.images.image_folder import natural_order
from netpart.data.images.tar_images import TarImages
from netpart.data.images.tar_samples import TarForm
from netpart.data.remote.url_listing import list_urls
from netpart.data.remote.url_path import DataPath, UrlPath, url_settings
from netpart.layers.checks import fault
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.inputs.stores import data_path
from netpart.spec import Spec

OF_FOLDERS = ("path", "masks", "classes")
"""Fields of image_conf for kImageInput alone."""


@final
class TarInput(ImagesInput):
    """Members of one name up to the first dot are a sample: an image and its labels, or its mask."""

    types: ClassVar[tuple[str, ...]] = ("kTarInput",)
    confs: ClassVar[tuple[str, ...]] = ("tar_conf", "image_conf")

    def infer(self) -> tuple[Spec, ...]:
        conf = self.conf.tar_conf
        if not conf.path:
            raise fault(
                self, "the tar files of its images", "none", 'write path: "..." in tar_conf', "tar_conf", "path"
            )
        if not (conf.label or conf.mask):
            raise fault(self, "a suffix of labels", "an empty one", 'write label: "cls"', "tar_conf", "label")
        for name in OF_FOLDERS:
            if given := getattr(self.conf.image_conf, name):
                hint = "omit it: the samples are those of tar_conf"
                raise fault(self, f"no {name} in image_conf", repr(given), hint, self.field, name)
        self.masked = bool(conf.mask)
        self.several = conf.label.endswith("json")
        return super().infer()

    def find_samples(self) -> TarImages:
        conf = self.conf.tar_conf
        form = TarForm(conf.label, conf.json_field, conf.mask)
        return TarImages(self.data_files(), form, url_settings(self.data_cache))

    def data_files(self) -> Sequence[DataPath]:
        return [path for name in self.conf.tar_conf.path for path in self._matches(name)]

    def _matches(self, name: str) -> list[DataPath]:
        """The files that a name or glob of the job stands for; the name itself if there are none."""
        path = data_path(self, name, "tar_conf", "path")
        if isinstance(path, UrlPath):
            return _list_tar_urls(path)
        if path.exists():
            return [path]
        found = glob(str(self.folder / name)) or glob(name)
        matched: list[DataPath] = [Path(each) for each in sorted(found, key=natural_order)]
        return matched or [path]


def _list_tar_urls(url: UrlPath) -> list[DataPath]:
    """The files that a URL or glob of the job stands for; the URL itself if there are none."""
    try:
        return [*list_urls(url)]
    except FileNotFoundError:
        return [url]
