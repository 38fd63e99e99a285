"""Source sizes: how large images and scans are before they are scaled to the shape of a row."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.data.images.encoded_image import EncodedImage
from netpart.data.scans.nifti import NiftiScan
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.inputs.nifti import NiftiInput
from netpart.layers.layer import Layer
from netpart.spec import Shape
from netpart.units import plural_text

OPENED = 64
"""Largest number of images or scans whose size is read, at even distances."""


def find_source_sizes(layer: Layer) -> str:
    """The extents of what ``layer`` scales to one shape, as text; "" if it scales nothing."""
    if not isinstance(layer, ImagesInput | NiftiInput):
        return ""
    sizes = list(_image_sizes(layer) if isinstance(layer, ImagesInput) else _scan_sizes(layer))
    noun = "image" if isinstance(layer, ImagesInput) else "scan"
    low, high = min(sizes), max(sizes)
    extents = "x".join(map(str, low)) + f" to {'x'.join(map(str, high))}" * (low != high)
    kinds = len(set(sizes))
    return f"{plural_text(len(sizes), noun)} opened: {extents}" + f", {kinds} sizes" * (kinds > 1)


def _image_sizes(layer: ImagesInput) -> Iterator[Shape]:
    samples = layer.samples()
    for number in _spread(len(samples)):
        yield EncodedImage(samples.image(number), samples.place(number)).size


def _scan_sizes(layer: NiftiInput) -> Iterator[Shape]:
    table = layer.table()
    for number in _spread(len(table)):
        yield NiftiScan(table[number].path).shape


def _spread(count: int) -> range:
    """At most OPENED numbers below ``count``, at even distances."""
    return range(0, count, -(-count // OPENED))
