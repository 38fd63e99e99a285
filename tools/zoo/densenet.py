"""DenseNet-121: Huang et al., Densely Connected Convolutional Networks, 2017."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.zoo.job import Job, Net


def jobs() -> Iterator[Job]:
    """DenseNet-121 as published, and a small one."""
    about = (
        "DenseNet-121 for images of 224 x 224, every layer of a block reads all before it. 7,978,856 "
        "parameters, 2.83 billion multiply-adds an image."
    )
    yield Job("densenet", "densenet121", about, densenet((6, 12, 24, 16), 32, 224, 1000, 256), 1000, 0.1)
    about = (
        "DenseNet-121 made small, two blocks of two layers, an eighth of the width, images of 32 x 32, ten "
        "classes. Learns within a minute."
    )
    yield Job("densenet", "densenet121-small", about, densenet((2, 2), 4, 32, 10, 16), 80, 0.05)


def densenet(blocks: Sequence[int], growth: int, side: int, classes: int, batch: int) -> Net:
    """A stem, dense blocks with transitions between them, a classifier. A layer adds ``growth`` channels."""
    net = Net()
    at, width = net.convolution("conv1", net.data(batch, (3, side, side), classes), 2 * growth, 7, 2, 3), 2 * growth
    at = net.pool("pool1", net.relu("relu1", net.norm("norm1", at)), 3, 2, pad=1)
    for b, count in enumerate(blocks, start=1):
        for i in range(1, count + 1):
            net.note(f"block {b}, layer {i}")
            at = dense(net, f"b{b}l{i}", at, growth)
        width += count * growth
        if b < len(blocks):
            net.note(f"transition {b}")
            width //= 2
            at = net.pool(f"t{b}-pool", convolution(net, f"t{b}", at, width, 1), 2, 2, method="AVG")
    net.note("classifier")
    at = net.mean("mean", net.relu("relu5", net.norm("norm5", at)))
    net.loss(net.product("fc", at, classes))
    return net


def dense(net: Net, name: str, source: str, growth: int) -> str:
    """Convolutions of 1 x 1 and 3 x 3, whose channels are joined to those of the source."""
    at = convolution(net, f"{name}-1", source, 4 * growth, 1)
    at = convolution(net, f"{name}-2", at, growth, 3)
    return net.layer(name, "kConcate", source, at, conf="concate_conf { concate_dim: 1 }")


def convolution(net: Net, name: str, source: str, filters: int, kernel: int) -> str:
    """Batch normalisation and ReLU, then the convolution."""
    at = net.relu(f"{name}-relu", net.norm(f"{name}-norm", source))
    return net.convolution(f"{name}-conv", at, filters, kernel, pad=kernel // 2)
