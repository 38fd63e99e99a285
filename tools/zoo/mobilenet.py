"""MobileNetV2: Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from netpart import Net
from netpart.blocks.residual_blocks import convolution_relu6, inverted_residual
from tools.zoo.job import SMALL_IMAGES, classifier, images, zoo_net

Row = tuple[int, int, int, int]
PUBLISHED: Sequence[Row] = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Table 2 of the paper: expansion, channels, blocks, stride of the first block."""
SMALL: Sequence[Row] = ((1, 4, 1, 1), (6, 8, 2, 2), (6, 16, 1, 2))


def jobs() -> Iterator[Net]:
    """MobileNetV2 as published, and a small one."""
    about = (
        "MobileNetV2 for images of 224 x 224, inverted residuals around depthwise convolutions. 3,504,872 "
        "parameters, 0.30 billion multiply-adds an image."
    )
    base = mobilenet(zoo_net("mobilenet", "mobilenetv2", about, 1000, 0.05), PUBLISHED, 32, 1280, 224, 1000, 256)
    yield base
    about = f"MobileNetV2 made small, four blocks, an eighth of the width, {SMALL_IMAGES}"
    yield mobilenet(zoo_net("mobilenet", "mobilenetv2-small", about, 60, 0.05, base=base), SMALL, 8, 64, 32, 10, 16)


def mobilenet(net: Net, rows: Sequence[Row], stem: int, last: int, side: int, classes: int, batch: int) -> Net:
    """A stem, blocks as ``rows`` say, a last convolution of 1 x 1, a classifier.

    The first block of a row changes the number of channels, the others have a shortcut.
    """
    data = images(net, batch, (3, side, side), classes)
    x, channels = convolution_relu6(net, "stem", data, stem, 3, 2), stem
    for r, (expansion, filters, count, stride) in enumerate(rows, start=1):
        of = "halving" if stride > 1 else "widening" if expansion > 1 else "separable"
        first = partial(inverted_residual, stride=stride, expands=expansion > 1)
        x = net.use(first, x, name=f"r{r}b1", of=of, wide=channels * expansion, filters=filters)
        rest, wide = partial(inverted_residual, shortcut=True), filters * expansion
        x = net.repeat(count - 1, rest, x, name=f"r{r}b", of="residual", first=2, wide=wide, filters=filters)
        channels = filters
    net.comment("classifier")
    x = net.dropout(net.global_pooling(convolution_relu6(net, "last", x, last, 1), name="mean"), 0.2, name="drop")
    return classifier(net, "fc", x, data, classes)
