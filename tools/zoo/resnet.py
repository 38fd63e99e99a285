"""ResNet-18, -34 and -50: He et al., Deep Residual Learning for Image Recognition, 2015; stride on the 3 x 3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netpart import LayerHandle, Net
from netpart.blocks.initialised_layers import he_convolution, initialised_batch_norm
from netpart.blocks.residual_blocks import basic_residual, bottleneck_residual, residual_stage
from tools.zoo.job import SMALL_IMAGES, classifier, images, zoo_net

BLOCKS: dict[str, Callable[..., LayerHandle]] = {"basic": basic_residual, "bottleneck": bottleneck_residual}


def jobs() -> Iterator[Net]:
    """The three as published, and small ones."""
    two, three = "residual blocks of two convolutions", "bottlenecks of three convolutions"
    sizes: list[tuple[int, str, str, Sequence[int], Sequence[int], str]] = [
        (18, "basic", two, (2, 2, 2, 2), (1, 1, 1), "11 689 512 parameters, 1.81"),
        (34, "basic", two, (3, 4, 6, 3), (1, 2, 2), "21 797 672 parameters, 3.66"),
        (50, "bottleneck", three, (3, 4, 6, 3), (1, 1, 1), "25 557 032 parameters, 4.09"),
    ]
    bases: dict[str, Net] = {}
    for depth, block, words, blocks, few, figures in sizes:
        about = f"ResNet-{depth} for images of 224 x 224, {words}. {figures} billion multiply-adds an image."
        net = zoo_net("resnet", f"resnet{depth}", about, 1000, 0.1, base=bases.get(block))
        bases.setdefault(block, net)
        yield resnet(net, block, blocks, 64, 224, 1000, 256)
        about = f"ResNet-{depth} made small, three stages, an eighth of the width, {SMALL_IMAGES}"
        net = zoo_net("resnet", f"resnet{depth}-small", about, 60, 0.02, base=bases[block])
        yield resnet(net, block, few, 8, 32, 10, 16)


def resnet(net: Net, block: str, blocks: Sequence[int], width: int, side: int, classes: int, batch: int) -> Net:
    """A stem, stages that halve the image and double the width, the mean of each channel, a classifier."""
    data = images(net, batch, (3, side, side), classes)
    x = net.relu(initialised_batch_norm(net, "norm1", he_convolution(net, "conv1", data, width, 7, 2)), name="relu1")
    x = net.pooling(x, pool="MAX", kernel=3, stride=2, pad=1, name="pool1")
    for stage, count in enumerate(blocks, start=2):
        net.comment(f"stage {stage}")
        filters, wide = width * 2 ** (stage - 2), width * 2**stage
        values = {"filters": filters} if block == "basic" else {"filters": filters, "wide": wide}
        change = "halving" if stage > 2 else "projecting" if block == "bottleneck" else ""
        changing, stride = change and f"{block}-{change}", 2 if stage > 2 else 1
        x = residual_stage(net, f"s{stage}b", count, x, BLOCKS[block], block, changing, stride, **values)
    net.comment("classifier")
    return classifier(net, "fc", net.global_pooling(x, name="mean"), data, classes)
