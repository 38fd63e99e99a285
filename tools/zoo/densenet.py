"""DenseNet-121: Huang et al., Densely Connected Convolutional Networks, 2017."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from netpart import Net
from netpart.blocks.dense_blocks import dense_layer, dense_transition
from netpart.blocks.initialised_layers import he_convolution, initialised_batch_norm
from tools.zoo.job import SMALL_IMAGES, classifier, images, zoo_net


def jobs() -> Iterator[Net]:
    """DenseNet-121 as published, and a small one."""
    about = (
        "DenseNet-121 for images of 224 x 224, every layer of a block reads all before it. 7,978,856 "
        "parameters, 2.83 billion multiply-adds an image."
    )
    base = densenet(zoo_net("densenet", "densenet121", about, 1000, 0.1), (6, 12, 24, 16), 32, 224, 1000, 256)
    yield base
    about = f"DenseNet-121 made small, two blocks of two layers, an eighth of the width, {SMALL_IMAGES}"
    yield densenet(zoo_net("densenet", "densenet121-small", about, 80, 0.05, base=base), (2, 2), 4, 32, 10, 16)


def densenet(net: Net, blocks: Sequence[int], growth: int, side: int, classes: int, batch: int) -> Net:
    """A stem, dense blocks with transitions between them, a classifier. A layer adds ``growth`` channels."""
    dense = partial(dense_layer, growth=net.let("growth", growth), wide=net.let("wide", 4 * growth))
    data, width = images(net, batch, (3, side, side), classes), 2 * growth
    x = net.relu(initialised_batch_norm(net, "norm1", he_convolution(net, "conv1", data, width, 7, 2)), name="relu1")
    x = net.pooling(x, pool="MAX", kernel=3, stride=2, pad=1, name="pool1")
    for b, count in enumerate(blocks, start=1):
        x = net.repeat(count, dense, x, name=f"b{b}l", of="dense")
        width += count * growth
        if b < len(blocks):
            width //= 2
            x = net.use(dense_transition, x, name=f"t{b}", of="transition", filters=width)
    net.comment("classifier")
    x = net.global_pooling(net.relu(initialised_batch_norm(net, "norm5", x), name="relu5"), name="mean")
    return classifier(net, "fc", x, data, classes)
