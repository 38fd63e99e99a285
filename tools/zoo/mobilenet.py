"""MobileNetV2: Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.zoo.job import Job, Net

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
    yield Job("mobilenet", "mobilenetv2", about, mobilenet(PUBLISHED, 32, 1280, 224, 1000, 256), 1000, 0.05)
    about = (
        "MobileNetV2 made small, four blocks, an eighth of the width, images of 32 x 32, ten classes. Learns "
        "within a minute."
    )
    yield Job("mobilenet", "mobilenetv2-small", about, mobilenet(SMALL, 8, 64, 32, 10, 16), 60, 0.05)


def mobilenet(rows: Sequence[Row], stem: int, last: int, side: int, classes: int, batch: int) -> Net:
    """A stem, blocks as ``rows`` say, a last convolution of 1 x 1, a classifier."""
    net = Net()
    at = convolution(net, "stem", net.data(batch, (3, side, side), classes), stem, 3, 2)
    channels = stem
    for r, (expansion, filters, count, stride) in enumerate(rows, start=1):
        for i in range(1, count + 1):
            net.note(f"row {r}, block {i}")
            step = stride if i == 1 else 1
            at = inverted_residual(net, f"r{r}b{i}", at, channels, expansion, filters, step)
            channels = filters
    net.note("classifier")
    at = net.dropout("drop", net.mean("mean", convolution(net, "last", at, last, 1)), 0.2)
    net.loss(net.product("fc", at, classes))
    return net


def inverted_residual(
    net: Net, name: str, source: str, channels: int, expansion: int, filters: int, stride: int
) -> str:
    """A wide depthwise convolution between two of 1 x 1, the last without ReLU; a shortcut where shapes allow."""
    at, wide = source, channels * expansion
    if expansion > 1:
        at = convolution(net, f"{name}-expand", at, wide, 1)
    at = convolution(net, f"{name}-depth", at, wide, 3, stride, wide)
    at = convolution(net, f"{name}-project", at, filters, 1, relu=False)
    return net.layer(f"{name}-add", "kAdd", at, source) if stride == 1 and channels == filters else at


def convolution(
    net: Net, name: str, source: str, filters: int, kernel: int, stride: int = 1, groups: int = 1, relu: bool = True
) -> str:
    """A convolution, its batch normalisation and, if wanted, ReLU up to 6."""
    more = f"groups: {groups}" if groups > 1 else ""
    at = net.convolution(f"{name}-conv", source, filters, kernel, stride, kernel // 2, more)
    at = net.norm(f"{name}-norm", at)
    return net.layer(f"{name}-relu", "kActivation", at, conf="activation_conf { type: RELU6 }") if relu else at
