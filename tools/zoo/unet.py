"""U-Net in two and three dimensions: Ronneberger et al., 2015; Çiçek et al., 2016. Convolutions keep the extent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tools.zoo.job import HE, ZERO, Job, Net, Value


@dataclass(frozen=True)
class Shape:
    """Sizes of a U-Net: filters of the two convolutions of each level on the way down, the finest first;
    whether batch normalisation follows them; whether up-convolutions have a bias."""

    down: Sequence[tuple[int, int]]
    normalised: bool
    bias: bool


def jobs() -> Iterator[Job]:
    """Both as published, and small ones."""
    flat = Shape([(64 * 2**i, 64 * 2**i) for i in range(5)], normalised=False, bias=True)
    about = (
        "U-Net for images of 512 x 512, five levels, a class for every pixel, cut on rows and, at the lowest "
        "level, channels. 31,030,658 parameters."
    )
    net2d = unet(flat, 1, (512, 512), 2, 1, mixed(5))
    yield Job("unet", "unet2d", about, net2d, 1000, 0.01, momentum=0.99)
    deep = Shape([(32 * 2**i, 64 * 2**i) for i in range(4)], normalised=True, bias=False)
    about = (
        "3-D U-Net for volumes of 128 x 128 x 128, four levels, a class for every voxel, cut on slices and, "
        "at the lowest level, channels. 19,069,955 parameters."
    )
    net3d = unet(deep, 3, (128, 128, 128), 3, 1, mixed(4))
    yield Job("unet", "unet3d", about, net3d, 1000, 0.01)
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-mixed": ("the lowest level cut on channels, all above it on the first spatial axis", mixed(3)),
    }
    for suffix, (wording, cut) in cuts.items():
        small = Shape([(4, 4), (8, 8), (16, 16)], normalised=False, bias=True)
        about = f"U-Net made small, {wording}. Three levels for images of 32 x 32. Learns within a minute."
        net = unet(small, 1, (32, 32), 2, 8, cut, ("unet2d.conf", net2d))
        yield Job("unet", f"unet2d-small{suffix}", about, net, 80, 0.05)
        small = Shape([(4, 8), (8, 16), (16, 32)], normalised=True, bias=False)
        about = f"3-D U-Net made small, {wording}. Three levels for volumes of 16 x 8 x 8. Learns within a minute."
        net = unet(small, 3, (16, 8, 8), 3, 8, cut, ("unet3d.conf", net3d))
        yield Job("unet", f"unet3d-small{suffix}", about, net, 60, 0.1)


def mixed(levels: int) -> Mapping[str, str]:
    """The lowest of ``levels`` cut on channels, all above it on the first spatial axis."""
    ends = {"data": "partition_dim: -1", "places": "partition_dim: 1", "loss": "partition_dim: 1"}
    return {**ends, f"d{levels}-*": "partition_dim: 1", "*": "partition_dim: 2"}


def unet(
    shape: Shape, channels: int, space: Sequence[int], classes: int, batch: int, cuts: Mapping[str, str] | None = None,
    base: tuple[str, Net] | None = None,
) -> Net:  # fmt: skip
    """Down and up again; every level of the way up also reads the output of the same level of the way down.

    ``base`` is the file with the blocks and its net; without it this net defines them.
    """
    net, axes = Net(cuts or {}), len(space)
    if base:
        net.include(*base)
    else:
        define_blocks(net, shape, axes)
    at, skips = masks(net, batch, (channels, *space), classes), list[tuple[str, int]]()
    for level, (first, second) in enumerate(shape.down, start=1):
        block = "top" if level == 1 else "down"
        at = net.use(f"d{level}", block, at, narrow=first, wide=second)
        skips.append((at, second))
    *rest, (at, wide) = skips
    for level, (skip, width) in reversed(list(enumerate(rest, start=1))):
        wide = wide if shape.normalised else width
        at = net.use(f"u{level}", "up", at, skip, wide=wide, filters=width)
        wide = width
    net.note("a label for every place")
    at = net.convolution("classes", at, classes, 1, more=spatial(axes), bias=True)
    at = net.layer("flat", "kReshape", at, conf=f"reshape_conf {{ shape: [{classes}, {prod(space)}] }}")
    net.loss(net.layer("places", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }"))
    return net


def define_blocks(net: Net, shape: Shape, axes: int) -> None:
    """Define the levels of the way down, the first of which has no pooling, and those of the way up."""
    for name in ("top", "down"):
        block = net.block(name, "x", takes=["narrow", "wide"])
        at = pool(block, "pool", "x", axes) if name == "down" else "x"
        at = convolution(block, "1", at, "${narrow}", shape, axes)
        block.outputs = [convolution(block, "2", at, "${wide}", shape, axes)]
    block = net.block("up", "x", "skip", takes=["wide", "filters"])
    at = block.layer("join", "kConcate", "skip", up(block, "x", shape, axes), conf="concate_conf { concate_dim: 1 }")
    for name in ("1", "2"):
        at = convolution(block, name, at, "${filters}", shape, axes)
    block.outputs = [at]


def masks(net: Net, batch: int, shape: Sequence[int], classes: int) -> str:
    """Add synthetic images and masks: regions of a class each, in noise."""
    conf = f"store_conf {{ batchsize: {batch} shape: [{', '.join(map(str, shape))}] }}"
    return net.layer("data", "kSyntheticMasks", conf=f"{conf}\nsynthetic_conf {{ classes: {classes} }}")


def convolution(net: Net, name: str, source: str, filters: Value, shape: Shape, axes: int) -> str:
    """A convolution of 3 along each axis; its batch normalisation, if there is one, has no scale of its own; ReLU."""
    at = net.convolution(f"{name}-conv", source, filters, 3, pad=1, more=spatial(axes), bias=True)
    if shape.normalised:
        at = net.layer(f"{name}-norm", "kBM", at)
    return net.relu(f"{name}-relu", at)


def up(net: Net, source: str, shape: Shape, axes: int) -> str:
    """Twice the extent along each axis."""
    fields = " ".join(part for part in ("num_filters: ${wide} kernel: 2 stride: 2", spatial(axes)) if part)
    params = [HE, ZERO] if shape.bias else [HE]
    return net.layer("up", "kTransposedConvolution", source, conf=f"convolution_conf {{ {fields} }}", params=params)


def pool(net: Net, name: str, source: str, axes: int) -> str:
    """Half the extent along each axis."""
    fields = " ".join(part for part in ("kernel: 2 stride: 2", spatial(axes)) if part)
    return net.layer(name, "kPooling", source, conf=f"pooling_conf {{ {fields} }}")


def spatial(axes: int) -> str:
    """The field that says on how many axes windows move."""
    return f"spatial_axes: {axes}" if axes != 2 else ""
