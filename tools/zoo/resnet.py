"""ResNet-18, -34 and -50: He et al., Deep Residual Learning for Image Recognition, 2015; stride on the 3 x 3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from netpart import LayerHandle, NestedLayers, Net
from tools.zoo.job import Value, batch_norm, classifier, convolution, images, normalised, zoo_net

Block = Callable[..., LayerHandle]


def jobs() -> Iterator[Net]:
    """The three as published, and small ones."""
    two, three = "residual blocks of two convolutions", "bottlenecks of three convolutions"
    sizes: list[tuple[int, Block, str, Sequence[int], Sequence[int], str]] = [
        (18, basic, two, (2, 2, 2, 2), (1, 1, 1), "11 689 512 parameters, 1.81"),
        (34, basic, two, (3, 4, 6, 3), (1, 2, 2), "21 797 672 parameters, 3.66"),
        (50, bottleneck, three, (3, 4, 6, 3), (1, 1, 1), "25 557 032 parameters, 4.09"),
    ]
    bases: dict[Block, Net] = {}
    for depth, block, words, blocks, few, figures in sizes:
        about = f"ResNet-{depth} for images of 224 x 224, {words}. {figures} billion multiply-adds an image."
        net = zoo_net("resnet", f"resnet{depth}", about, 1000, 0.1, base=bases.get(block))
        bases.setdefault(block, net)
        yield resnet(net, block, blocks, 64, 224, 1000, 256)
        about = (
            f"ResNet-{depth} made small, three stages, an eighth of the width, images of 32 x 32, ten classes. "
            "Learns within a minute."
        )
        net = zoo_net("resnet", f"resnet{depth}-small", about, 60, 0.02, base=bases[block])
        yield resnet(net, block, few, 8, 32, 10, 16)


def resnet(net: Net, block: Block, blocks: Sequence[int], width: int, side: int, classes: int, batch: int) -> Net:
    """A stem, stages that halve the image and double the width, the mean of each channel, a classifier."""
    data = images(net, batch, (3, side, side), classes)
    x = net.relu(batch_norm(net, "norm1", convolution(net, "conv1", data, width, 7, 2)), name="relu1")
    x = net.pooling(x, pool="MAX", kernel=3, stride=2, pad=1, name="pool1")
    for stage, count in enumerate(blocks, start=2):
        net.comment(f"stage {stage}")
        x = add_stage(net, block, stage, count, width * 2 ** (stage - 2), x)
    net.comment("classifier")
    classifier(net, "fc", net.global_pooling(x, name="mean"), data, classes)
    return net


def add_stage(net: Net, block: Block, stage: int, count: int, filters: int, x: LayerHandle) -> LayerHandle:
    """``count`` blocks, of which the first halves the image or projects its source where that changes its shape."""
    values: dict[str, Any] = {"filters": filters}
    name, kind, first = f"s{stage}b", block.__name__, 1
    if block is bottleneck:
        values["wide"] = 4 * filters
    if stage > 2 or block is bottleneck:
        of = f"{kind}-halving" if stage > 2 else f"{kind}-projecting"
        changed = partial(block, stride=2 if stage > 2 else 1, project=True)
        x, first = net.use(changed, x, name=f"{name}1", of=of, **values), 2
    return net.repeat(count + 1 - first, block, x, name=name, first=first, **values)


def basic(net: NestedLayers, x: LayerHandle, filters: Value, stride: int = 1, project: bool = False) -> LayerHandle:
    """Two convolutions of 3 x 3 with a shortcut."""
    at = net.relu(normalised(net, "1", x, filters, 3, stride), name="1-relu")
    return shortcut(net, normalised(net, "2", at, filters, 3), x, filters, stride, project)


def bottleneck(
    net: NestedLayers, x: LayerHandle, filters: Value, wide: Value, stride: int = 1, project: bool = False
) -> LayerHandle:
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1, the last with four times the filters, with a shortcut."""
    at = net.relu(normalised(net, "1", x, filters, 1), name="1-relu")
    at = net.relu(normalised(net, "2", at, filters, 3, stride), name="2-relu")
    return shortcut(net, normalised(net, "3", at, wide, 1), x, wide, stride, project)


def shortcut(
    net: NestedLayers, at: LayerHandle, x: LayerHandle, filters: Value, stride: int = 1, project: bool = False,
    **more: int
) -> LayerHandle:  # fmt: skip
    """Add the source ``x``, projected where its shape changes; ReLU."""
    source = normalised(net, "shortcut", x, filters, 1, stride, **more) if project else x
    return net.relu(net.add(at, source, name="add"), name="out")
