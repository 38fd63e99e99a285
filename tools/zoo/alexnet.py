"""AlexNet on one tower: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014."""

from __future__ import annotations

from collections.abc import Iterator

from netpart import Net
from netpart.blocks.initialised_layers import HE, he_convolution, initialised_product
from tools.zoo.job import classifier, images, zoo_net


def jobs() -> Iterator[Net]:
    """AlexNet as published, and a small one."""
    about = (
        "AlexNet for images of 224 x 224, as in One weird trick (2014), five convolutions, three inner "
        "products. 61,100,840 parameters, 0.714 billion multiply-adds an image."
    )
    yield alexnet(zoo_net("alexnet", "alexnet", about, 1000, 0.01), 64, 4096, 224, 1000, 128, 0.5)
    about = "AlexNet made small, an eighth of the filters, images of 64 x 64, ten classes. Learns within a minute."
    yield alexnet(zoo_net("alexnet", "alexnet-small", about, 100, 0.01), 8, 128, 64, 10, 16, 0.2)


def alexnet(net: Net, width: int, neurons: int, side: int, classes: int, batch: int, drop: float) -> Net:
    """Five convolutions and three inner products; ``width`` filters in the first."""
    x = data = images(net, batch, (3, side, side), classes)
    for i, (times, kernel) in enumerate(((1, 11), (3, 5), (6, 3), (4, 3), (4, 3)), start=1):
        first = {"stride": 4, "pad": 2} if i == 1 else {}
        x = net.relu(he_convolution(net, f"conv{i}", x, width * times, kernel, bias=True, **first), name=f"relu{i}")
        x = net.pooling(x, pool="MAX", kernel=3, stride=2, name=f"pool{i}") if i in (1, 2, 5) else x
    for i in (6, 7):
        x = initialised_product(net, f"fc{i}", net.dropout(x, drop, name=f"drop{i}"), neurons, HE)
        x = net.relu(x, name=f"relu{i}")
    return classifier(net, "fc8", x, data, classes)
