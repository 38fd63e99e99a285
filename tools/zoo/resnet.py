"""ResNet-18, -34 and -50: He et al., Deep Residual Learning for Image Recognition, 2015; stride on the 3 x 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.zoo.job import Job, Net, Value


@dataclass(frozen=True)
class Kind:
    """A kind of residual block. ``growth``: filters of its last convolution by those of its first; ``projected``: the
    shortcut of the first block of all has a projection, too."""

    name: str
    words: str
    growth: int

    @property
    def projected(self) -> bool:
        return self.growth > 1


BASIC = Kind("basic", "residual blocks of two convolutions", 1)
BOTTLENECK = Kind("bottleneck", "bottlenecks of three convolutions", 4)


def jobs() -> Iterator[Job]:
    """The three as published, and small ones."""
    sizes = {
        18: (BASIC, (2, 2, 2, 2), (1, 1, 1), "11 689 512 parameters, 1.81"),
        34: (BASIC, (3, 4, 6, 3), (1, 2, 2), "21 797 672 parameters, 3.66"),
        50: (BOTTLENECK, (3, 4, 6, 3), (1, 1, 1), "25 557 032 parameters, 4.09"),
    }
    bases: dict[str, tuple[str, Net]] = {}
    for depth, (kind, blocks, few, figures) in sizes.items():
        about = f"ResNet-{depth} for images of 224 x 224, {kind.words}. {figures} billion multiply-adds an image."
        net = resnet(kind, blocks, 64, 224, 1000, 256, bases.get(kind.name))
        base = bases.setdefault(kind.name, (f"resnet{depth}.conf", net))
        yield Job("resnet", f"resnet{depth}", about, net, 1000, 0.1)
        about = (
            f"ResNet-{depth} made small, three stages, an eighth of the width, images of 32 x 32, ten classes. "
            "Learns within a minute."
        )
        yield Job("resnet", f"resnet{depth}-small", about, resnet(kind, few, 8, 32, 10, 16, base), 60, 0.02)


def resnet(
    kind: Kind, blocks: Sequence[int], width: int, side: int, classes: int, batch: int,
    base: tuple[str, Net] | None = None,
) -> Net:  # fmt: skip
    """A stem, stages that halve the image and double the width, the mean of each channel, a classifier.

    ``base`` is the file with the blocks and its net; without it this net defines them.
    """
    net = Net()
    if base:
        net.include(*base)
    else:
        define_blocks(net, kind)
    at = net.data(batch, (3, side, side), classes)
    at = net.convolution("conv1", at, width, 7, stride=2, pad=3)
    at = net.pool("pool1", net.relu("relu1", net.norm("norm1", at)), 3, 2, pad=1)
    for stage, count in enumerate(blocks, start=2):
        net.note(f"stage {stage}")
        at = add_stage(net, kind, stage, count, width * 2 ** (stage - 2), at)
    net.note("classifier")
    net.loss(net.product("fc", net.mean("mean", at), classes))
    return net


def add_stage(net: Net, kind: Kind, stage: int, count: int, filters: int, source: str) -> str:
    """``count`` blocks, of which the first halves the image or projects its source where that changes its shape."""
    values = {"filters": filters} | ({"wide": filters * kind.growth} if kind.growth > 1 else {})
    name, first = f"s{stage}b", 1
    if stage > 2 or kind.projected:
        block = f"{kind.name}-halving" if stage > 2 else f"{kind.name}-projecting"
        source, first = net.use(f"{name}1", block, source, **values), 2
    rest = count + 1 - first
    return net.use(name, kind.name, source, times=rest, first=first, **values) if rest else source


def define_blocks(net: Net, kind: Kind) -> None:
    """Define the blocks: as it is, halving the image, and with a projection alone."""
    define = define_basic if kind is BASIC else define_bottleneck
    define(net, kind.name, 1, project=False)
    define(net, f"{kind.name}-halving", 2, project=True)
    if kind.projected:
        define(net, f"{kind.name}-projecting", 1, project=True)


def define_basic(net: Net, name: str, stride: int, project: bool) -> None:
    """Two convolutions of 3 x 3 with a shortcut."""
    block = net.block(name, "x", takes=["filters"])
    at = convolution(block, "1", "x", "${filters}", 3, stride)
    at = convolution(block, "2", at, "${filters}", 3, relu=False)
    block.outputs = [join(block, at, "${filters}", stride, project)]


def define_bottleneck(net: Net, name: str, stride: int, project: bool) -> None:
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1, the last with four times the filters, with a shortcut."""
    block = net.block(name, "x", takes=["filters", "wide"])
    at = convolution(block, "1", "x", "${filters}", 1)
    at = convolution(block, "2", at, "${filters}", 3, stride)
    at = convolution(block, "3", at, "${wide}", 1, relu=False)
    block.outputs = [join(block, at, "${wide}", stride, project)]


def convolution(
    net: Net, name: str, source: str, filters: Value, kernel: int, stride: int = 1, relu: bool = True
) -> str:
    """A convolution, its batch normalisation and, if wanted, ReLU."""
    at = net.convolution(f"{name}-conv", source, filters, kernel, stride, kernel // 2)
    at = net.norm(f"{name}-norm", at)
    return net.relu(f"{name}-relu", at) if relu else at


def join(net: Net, at: str, filters: Value, stride: int, project: bool) -> str:
    """Add the shortcut, projected where it changes its shape."""
    source = convolution(net, "shortcut", "x", filters, 1, stride, relu=False) if project else "x"
    return net.relu("out", net.layer("add", "kAdd", at, source))
