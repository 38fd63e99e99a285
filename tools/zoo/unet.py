"""U-Net in two and three dimensions: Ronneberger et al., 2015; Çiçek et al., 2016. Convolutions keep the extent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod

from netpart import LayerHandle, Net
from netpart.blocks.initialised_layers import he_convolution
from netpart.blocks.unet_blocks import decoder_level, encoder_level, window_axes
from tools.zoo.job import CHANNELS, SPACE, WHOLE, Cuts, zoo_net

Widths = Sequence[tuple[int, int]]
"""Filters of the two convolutions of each level on the way down, the finest first."""


def jobs() -> Iterator[Net]:
    """Both as published, and small ones."""
    about = "U-Net for images of 512 x 512, five levels, a class for every pixel, cut on rows and, at the lowest "
    flat = zoo_net("unet", "unet2d", f"{about}level, channels. 31,030,658 parameters.", 1000, 0.01, momentum=0.99)
    unet(flat, [(64 * 2**i, 64 * 2**i) for i in range(5)], 1, (512, 512), 2, 1).cut(mixed(5))
    yield flat
    about = "3-D U-Net for volumes of 128 x 128 x 128, four levels, a class for every voxel, cut on slices and, "
    deep = zoo_net("unet", "unet3d", f"{about}at the lowest level, channels. 19,069,955 parameters.", 1000, 0.01)
    unet(deep, [(32 * 2**i, 64 * 2**i) for i in range(4)], 3, (128, 128, 128), 3, 1).cut(mixed(4))
    yield deep
    cuts: dict[str, tuple[str, Cuts]] = {
        "": ("every layer cut on the batch", {}),
        "-mixed": ("the lowest level cut on channels, all above it on the first spatial axis", mixed(3)),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"U-Net made small, {wording}. Three levels for images of 32 x 32. Learns within a minute."
        net = zoo_net("unet", f"unet2d-small{suffix}", about, 80, 0.05, base=flat)
        unet(net, [(4, 4), (8, 8), (16, 16)], 1, (32, 32), 2, 8).cut(cut)
        yield net
        about = f"3-D U-Net made small, {wording}. Three levels for volumes of 16 x 8 x 8. Learns within a minute."
        net = zoo_net("unet", f"unet3d-small{suffix}", about, 60, 0.1, base=deep)
        unet(net, [(4, 8), (8, 16), (16, 32)], 3, (16, 8, 8), 3, 8).cut(cut)
        yield net


def mixed(levels: int) -> Cuts:
    """The lowest of ``levels`` cut on channels, all above it on the first spatial axis."""
    return {"data": WHOLE, **dict.fromkeys(("places", "loss", f"d{levels}-*"), CHANNELS), "*": SPACE}


def unet(net: Net, widths: Widths, channels: int, space: Sequence[int], classes: int, batch: int) -> Net:
    """Down and up again; every level of the way up also reads the output of the same level of the way down.

    In three dimensions batch normalisation follows the convolutions.
    """
    x = data = net.synthetic_masks(name="data", batchsize=batch, shape=[channels, *space], classes=classes)
    skips, axes = list[LayerHandle](), len(space)
    rise = partial(decoder_level, axes=axes)
    for level, (narrow, wide) in enumerate(widths, start=1):
        block = partial(encoder_level, axes=axes, pools=level > 1)
        x = net.use(block, x, name=f"d{level}", of="down" if level > 1 else "top", narrow=narrow, wide=wide)
        skips.append(x)
    for level in range(len(widths) - 1, 0, -1):
        filters = widths[level - 1][1]
        wide = widths[level][1] if axes == 3 else filters
        x = net.use(rise, x, skips[level - 1], name=f"u{level}", of="up", wide=wide, filters=filters)
    net.comment("a label for every place")
    x = he_convolution(net, "classes", x, classes, 1, bias=True, spatial_axes=window_axes(axes))
    x = net.transpose(net.reshape(x, [classes, prod(space)], name="flat"), [2, 1], name="places")
    net.softmax_loss(x, data, name="loss")
    return net
