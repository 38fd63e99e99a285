"""AlexNet on one tower: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014."""

from __future__ import annotations

from collections.abc import Iterator

from tools.zoo.job import HE, Job, Net


def jobs() -> Iterator[Job]:
    """AlexNet as published, and a small one."""
    about = (
        "AlexNet for images of 224 x 224, as in One weird trick (2014), five convolutions, three inner "
        "products. 61,100,840 parameters, 0.714 billion multiply-adds an image."
    )
    yield Job("alexnet", "alexnet", about, alexnet(64, 4096, 224, 1000, 128, 0.5), 1000, 0.01)
    about = "AlexNet made small, an eighth of the filters, images of 64 x 64, ten classes. Learns within a minute."
    yield Job("alexnet", "alexnet-small", about, alexnet(8, 128, 64, 10, 16, 0.2), 100, 0.01)


def alexnet(width: int, neurons: int, side: int, classes: int, batch: int, drop: float) -> Net:
    """Five convolutions and three inner products; ``width`` filters in the first."""
    net = Net()
    at = net.data(batch, (3, side, side), classes)
    at = net.relu("relu1", net.convolution("conv1", at, width, 11, stride=4, pad=2, bias=True))
    at = net.pool("pool1", at, 3, 2)
    at = net.relu("relu2", net.convolution("conv2", at, width * 3, 5, pad=2, bias=True))
    at = net.pool("pool2", at, 3, 2)
    for i, times in ((3, 6), (4, 4), (5, 4)):
        at = net.relu(f"relu{i}", net.convolution(f"conv{i}", at, width * times, 3, pad=1, bias=True))
    at = net.pool("pool5", at, 3, 2)
    for i in (6, 7):
        at = net.dropout(f"drop{i}", at, drop)
        at = net.relu(f"relu{i}", net.product(f"fc{i}", at, neurons, init=HE))
    net.loss(net.product("fc8", at, classes))
    return net
