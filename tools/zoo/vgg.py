"""VGG-16: Simonyan and Zisserman, Very Deep Convolutional Networks, 2014, configuration D."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart import LayerHandle, NamedValue, NestedLayers, Net
from netpart.blocks.initialised_layers import HE, Size, he_convolution, initialised_product
from tools.zoo.job import SMALL_IMAGES, classifier, images, zoo_net

D = (2, 2, 3, 3, 3)
"""Convolutions between two poolings; each group doubles the filters, up to eight times the first."""


def jobs() -> Iterator[Net]:
    """VGG-16 as published, and a small one."""
    about = (
        "VGG-16 for images of 224 x 224, thirteen convolutions and three inner products. 138,357,544 "
        "parameters, 15.47 billion multiply-adds an image."
    )
    base = vgg(zoo_net("vgg", "vgg16", about, 1000, 0.01), D, 64, 4096, 224, 1000, 64, 0.5)
    yield base
    about = f"VGG-16 made small, a convolution a group, an eighth of the filters, {SMALL_IMAGES}"
    yield vgg(zoo_net("vgg", "vgg16-small", about, 100, 0.01, base=base), (1,) * 5, 8, 128, 32, 10, 16, 0.2)


def vgg(
    net: Net, groups: Sequence[int], width: int, neurons: int, side: int, classes: int, batch: int, drop: float
) -> Net:
    """Groups of 3 x 3 convolutions with a pooling after each, then three inner products."""
    x = data = images(net, batch, (3, side, side), classes)
    for g, count in enumerate(groups, start=1):
        x = net.repeat(count, convolution, x, name=f"{g}-", filters=min(width * 2 ** (g - 1), width * 8))
        x = net.pooling(x, pool="MAX", kernel=2, stride=2, name=f"pool{g}")
    net.comment("classifier")
    for i in (6, 7):
        x = net.relu(initialised_product(net, f"fc{i}", x, neurons, HE), name=f"relu{i}")
        x = net.dropout(x, drop, name=f"drop{i}")
    return classifier(net, "fc8", x, data, classes)


def convolution(net: NestedLayers, x: LayerHandle, filters: Size) -> LayerHandle:
    """A convolution of 3 x 3 and ReLU."""
    here = NamedValue("instance")
    return net.relu(he_convolution(net, f"conv{here}", x, filters, 3, bias=True), name=f"relu{here}")
