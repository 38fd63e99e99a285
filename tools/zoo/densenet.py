"""DenseNet-121: Huang et al., Densely Connected Convolutional Networks, 2017."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.zoo.job import HERE, Job, Net, Value


def jobs() -> Iterator[Job]:
    """DenseNet-121 as published, and a small one."""
    about = (
        "DenseNet-121 for images of 224 x 224, every layer of a block reads all before it. 7,978,856 "
        "parameters, 2.83 billion multiply-adds an image."
    )
    net = densenet((6, 12, 24, 16), 32, 224, 1000, 256)
    yield Job("densenet", "densenet121", about, net, 1000, 0.1)
    about = (
        "DenseNet-121 made small, two blocks of two layers, an eighth of the width, images of 32 x 32, ten "
        "classes. Learns within a minute."
    )
    yield Job("densenet", "densenet121-small", about, densenet((2, 2), 4, 32, 10, 16, net), 80, 0.05)


def densenet(blocks: Sequence[int], growth: int, side: int, classes: int, batch: int, base: Net | None = None) -> Net:
    """A stem, dense blocks with transitions between them, a classifier. A layer adds ``growth`` channels.

    ``base`` is the net of densenet121.conf, whose blocks this one uses; without it this is that net.
    """
    net = Net()
    if base:
        net.include("densenet121.conf", base)
    net.let(growth=growth, wide=4 * growth)
    if not base:
        define_blocks(net)
    at, width = net.convolution("conv1", net.data(batch, (3, side, side), classes), 2 * growth, 7, 2, 3), 2 * growth
    at = net.pool("pool1", net.relu("relu1", net.norm("norm1", at)), 3, 2, pad=1)
    for b, count in enumerate(blocks, start=1):
        at = net.use(f"b{b}l", "dense", at, times=count)
        width += count * growth
        if b < len(blocks):
            width //= 2
            at = net.use(f"t{b}", "transition", at, filters=width)
    net.note("classifier")
    at = net.mean("mean", net.relu("relu5", net.norm("norm5", at)))
    net.loss(net.product("fc", at, classes))
    return net


def define_blocks(net: Net) -> None:
    """Define the layer "dense", convolutions of 1 x 1 and 3 x 3 whose channels are joined to those of the source, and
    the "transition" to half of the extent."""
    block = net.block("dense", "x")
    at = convolution(block, "2", convolution(block, "1", "x", "${wide}", 1), "${growth}", 3)
    block.outputs = [block.layer(HERE, "kConcate", "x", at, conf="concate_conf { concate_dim: 1 }")]
    block = net.block("transition", "x", takes=["filters"])
    at = convolution(block, "", "x", "${filters}", 1)
    block.outputs = [block.pool("pool", at, 2, 2, method="AVG")]


def convolution(net: Net, name: str, source: str, filters: Value, kernel: int) -> str:
    """Batch normalisation and ReLU, then the convolution."""
    prefix = f"{name}-" if name else ""
    at = net.relu(f"{prefix}relu", net.norm(f"{prefix}norm", source))
    return net.convolution(f"{prefix}conv", at, filters, kernel, pad=kernel // 2)
