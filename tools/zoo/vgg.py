"""VGG-16: Simonyan and Zisserman, Very Deep Convolutional Networks, 2014, configuration D."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.zoo.job import HE, HERE, Job, Net

D = (2, 2, 3, 3, 3)
"""Convolutions between two poolings; each group doubles the filters, up to eight times the first."""


def jobs() -> Iterator[Job]:
    """VGG-16 as published, and a small one."""
    about = (
        "VGG-16 for images of 224 x 224, thirteen convolutions and three inner products. 138,357,544 "
        "parameters, 15.47 billion multiply-adds an image."
    )
    net = vgg(D, 64, 4096, 224, 1000, 64, 0.5)
    yield Job("vgg", "vgg16", about, net, 1000, 0.01)
    about = (
        "VGG-16 made small, a convolution a group, an eighth of the filters, images of 32 x 32, ten classes. "
        "Learns within a minute."
    )
    yield Job("vgg", "vgg16-small", about, vgg((1,) * 5, 8, 128, 32, 10, 16, 0.2, net), 100, 0.01)


def vgg(
    groups: Sequence[int], width: int, neurons: int, side: int, classes: int, batch: int, drop: float,
    base: Net | None = None,
) -> Net:  # fmt: skip
    """Groups of 3 x 3 convolutions with a pooling after each, then three inner products.

    ``base`` is the net of vgg16.conf, whose block this one uses; without it this is that net.
    """
    net = Net()
    if base:
        net.include("vgg16.conf", base)
    else:
        block = net.block("convolution", "x", takes=["filters"])
        at = block.convolution(f"conv{HERE}", "x", "${filters}", 3, pad=1, bias=True)
        block.outputs = [block.relu(f"relu{HERE}", at)]
    at = net.data(batch, (3, side, side), classes)
    for g, count in enumerate(groups, start=1):
        at = net.use(f"{g}-", "convolution", at, times=count, filters=min(width * 2 ** (g - 1), width * 8))
        at = net.pool(f"pool{g}", at, 2, 2)
    net.note("classifier")
    for i in (6, 7):
        at = net.relu(f"relu{i}", net.product(f"fc{i}", at, neurons, init=HE))
        at = net.dropout(f"drop{i}", at, drop)
    net.loss(net.product("fc8", at, classes))
    return net
