"""ResNet-18, -34 and -50: He et al., Deep Residual Learning for Image Recognition, 2015; stride on the 3 x 3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tools.zoo.job import Job, Net

Block = Callable[[Net, str, str, int, int, bool], str]
"""Adds a block: net, name, source, width, stride, whether the shortcut needs a projection."""


def jobs() -> Iterator[Job]:
    """The three as published, and small ones."""
    sizes = {
        18: (basic, (2, 2, 2, 2), (1, 1, 1), "11 689 512 parameters, 1.81"),
        34: (basic, (3, 4, 6, 3), (1, 2, 2), "21 797 672 parameters, 3.66"),
        50: (bottleneck, (3, 4, 6, 3), (1, 1, 1), "25 557 032 parameters, 4.09"),
    }
    for depth, (block, blocks, few, figures) in sizes.items():
        kind = "residual blocks of two convolutions" if block is basic else "bottlenecks of three convolutions"
        about = f"ResNet-{depth} for images of 224 x 224, {kind}. {figures} billion multiply-adds an image."
        yield Job("resnet", f"resnet{depth}", about, resnet(block, blocks, 64, 224, 1000, 256), 1000, 0.1)
        about = (
            f"ResNet-{depth} made small, three stages, an eighth of the width, images of 32 x 32, ten classes. "
            "Learns within a minute."
        )
        yield Job("resnet", f"resnet{depth}-small", about, resnet(block, few, 8, 32, 10, 16), 60, 0.02)


def resnet(block: Block, blocks: Sequence[int], width: int, side: int, classes: int, batch: int) -> Net:
    """A stem, stages that halve the image and double the width, the mean of each channel, a classifier."""
    net = Net()
    at = net.data(batch, (3, side, side), classes)
    at = net.convolution("conv1", at, width, 7, stride=2, pad=3)
    at = net.pool("pool1", net.relu("relu1", net.norm("norm1", at)), 3, 2, pad=1)
    for stage, count in enumerate(blocks, start=2):
        for i in range(1, count + 1):
            net.note(f"stage {stage}, block {i}")
            first = i == 1 and (stage > 2 or block is bottleneck)
            at = block(net, f"s{stage}b{i}", at, width * 2 ** (stage - 2), 2 if first and stage > 2 else 1, first)
    net.note("classifier")
    net.loss(net.product("fc", net.mean("mean", at), classes))
    return net


def basic(net: Net, name: str, source: str, width: int, stride: int, project: bool) -> str:
    """Two convolutions of 3 x 3 with a shortcut."""
    at = convolution(net, f"{name}-1", source, width, 3, stride)
    at = convolution(net, f"{name}-2", at, width, 3, relu=False)
    return join(net, name, at, source, width, stride, project)


def bottleneck(net: Net, name: str, source: str, width: int, stride: int, project: bool) -> str:
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1, the last with four times the filters, with a shortcut."""
    at = convolution(net, f"{name}-1", source, width, 1)
    at = convolution(net, f"{name}-2", at, width, 3, stride)
    at = convolution(net, f"{name}-3", at, width * 4, 1, relu=False)
    return join(net, name, at, source, width * 4, stride, project)


def convolution(net: Net, name: str, source: str, filters: int, kernel: int, stride: int = 1, relu: bool = True) -> str:
    """A convolution, its batch normalisation and, if wanted, ReLU."""
    at = net.convolution(f"{name}-conv", source, filters, kernel, stride, kernel // 2)
    at = net.norm(f"{name}-norm", at)
    return net.relu(f"{name}-relu", at) if relu else at


def join(net: Net, name: str, at: str, source: str, filters: int, stride: int, project: bool) -> str:
    """Add the shortcut, projected where it changes its shape."""
    if project:
        source = convolution(net, f"{name}-shortcut", source, filters, 1, stride, relu=False)
    return net.relu(f"{name}-out", net.layer(f"{name}-add", "kAdd", at, source))
