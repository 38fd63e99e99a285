"""MobileNetV2: Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.zoo.job import Job, Net, Value

Row = tuple[int, int, int, int]
PUBLISHED: Sequence[Row] = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Table 2 of the paper: expansion, channels, blocks, stride of the first block."""
SMALL: Sequence[Row] = ((1, 4, 1, 1), (6, 8, 2, 2), (6, 16, 1, 2))


def jobs() -> Iterator[Job]:
    """MobileNetV2 as published, and a small one."""
    about = (
        "MobileNetV2 for images of 224 x 224, inverted residuals around depthwise convolutions. 3,504,872 "
        "parameters, 0.30 billion multiply-adds an image."
    )
    net = mobilenet(PUBLISHED, 32, 1280, 224, 1000, 256)
    yield Job("mobilenet", "mobilenetv2", about, net, 1000, 0.05)
    about = (
        "MobileNetV2 made small, four blocks, an eighth of the width, images of 32 x 32, ten classes. Learns "
        "within a minute."
    )
    yield Job("mobilenet", "mobilenetv2-small", about, mobilenet(SMALL, 8, 64, 32, 10, 16, net), 60, 0.05)


def mobilenet(
    rows: Sequence[Row], stem: int, last: int, side: int, classes: int, batch: int, base: Net | None = None
) -> Net:
    """A stem, blocks as ``rows`` say, a last convolution of 1 x 1, a classifier.

    ``base`` is the net of mobilenetv2.conf, whose blocks this one uses; without it this is that net.
    """
    net = Net()
    if base:
        net.include("mobilenetv2.conf", base)
    else:
        define_blocks(net)
    at, channels = convolution(net, "stem", net.data(batch, (3, side, side), classes), stem, 3, 2), stem
    for r, row in enumerate(rows, start=1):
        at = add_row(net, f"r{r}b", at, channels, row)
        channels = row[1]
    net.note("classifier")
    at = net.dropout("drop", net.mean("mean", convolution(net, "last", at, last, 1)), 0.2)
    net.loss(net.product("fc", at, classes))
    return net


def add_row(net: Net, name: str, source: str, channels: int, row: Row) -> str:
    """The blocks of a row: the first changes the number of channels, the others have a shortcut."""
    expansion, filters, count, stride = row
    first = "halving" if stride > 1 else "widening" if expansion > 1 else "separable"
    at = net.use(f"{name}1", first, source, wide=channels * expansion, filters=filters)
    if count == 1:
        return at
    return net.use(name, "residual", at, times=count - 1, first=2, wide=filters * expansion, filters=filters)


def define_blocks(net: Net) -> None:
    """Define the blocks: without expansion, with a stride, with neither, and with a shortcut."""
    define_block(net, "separable", 1, expands=False)
    define_block(net, "halving", 2)
    define_block(net, "widening", 1)
    define_block(net, "residual", 1, shortcut=True)


def define_block(net: Net, name: str, stride: int, expands: bool = True, shortcut: bool = False) -> None:
    """A wide depthwise convolution between two of 1 x 1, the last without ReLU."""
    block = net.block(name, "x", takes=["wide", "filters"])
    at = convolution(block, "expand", "x", "${wide}", 1) if expands else "x"
    at = convolution(block, "depth", at, "${wide}", 3, stride, "groups: ${wide}")
    at = convolution(block, "project", at, "${filters}", 1, relu=False)
    block.outputs = [block.layer("add", "kAdd", at, "x") if shortcut else at]


def convolution(
    net: Net, name: str, source: str, filters: Value, kernel: int, stride: int = 1, more: str = "", relu: bool = True
) -> str:
    """A convolution, its batch normalisation and, if wanted, ReLU up to 6."""
    at = net.convolution(f"{name}-conv", source, filters, kernel, stride, kernel // 2, more)
    at = net.norm(f"{name}-norm", at)
    return net.layer(f"{name}-relu", "kActivation", at, conf="activation_conf { type: RELU6 }") if relu else at
