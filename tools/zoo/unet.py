"""U-Net in two and three dimensions: Ronneberger et al., 2015; Çiçek et al., 2016. Convolutions keep the extent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tools.zoo.job import HE, ZERO, Job, Net


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
    yield Job("unet", "unet2d", about, unet(flat, 1, (512, 512), 2, 1, mixed(5)), 1000, 0.01, momentum=0.99)
    deep = Shape([(32 * 2**i, 64 * 2**i) for i in range(4)], normalised=True, bias=False)
    about = (
        "3-D U-Net for volumes of 128 x 128 x 128, four levels, a class for every voxel, cut on slices and, "
        "at the lowest level, channels. 19,069,955 parameters."
    )
    yield Job("unet", "unet3d", about, unet(deep, 3, (128, 128, 128), 3, 1, mixed(4)), 1000, 0.01)
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-mixed": ("the lowest level cut on channels, all above it on the first spatial axis", mixed(3)),
    }
    for suffix, (wording, cut) in cuts.items():
        small = Shape([(4, 4), (8, 8), (16, 16)], normalised=False, bias=True)
        about = f"U-Net made small, {wording}. Three levels for images of 32 x 32. Learns within a minute."
        yield Job("unet", f"unet2d-small{suffix}", about, unet(small, 1, (32, 32), 2, 8, cut), 80, 0.05)
        small = Shape([(4, 8), (8, 16), (16, 32)], normalised=True, bias=False)
        about = f"3-D U-Net made small, {wording}. Three levels for volumes of 16 x 8 x 8. Learns within a minute."
        yield Job("unet", f"unet3d-small{suffix}", about, unet(small, 3, (16, 8, 8), 3, 8, cut), 60, 0.1)


def mixed(levels: int) -> Mapping[str, str]:
    """The lowest of ``levels`` cut on channels, all above it on the first spatial axis."""
    ends = {"data": "partition_dim: -1", "places": "partition_dim: 1", "loss": "partition_dim: 1"}
    return {**ends, f"d{levels}-*": "partition_dim: 1", "*": "partition_dim: 2"}


def unet(
    shape: Shape, channels: int, space: Sequence[int], classes: int, batch: int, cuts: Mapping[str, str] | None = None
) -> Net:
    """Down and up again; every level of the way up also reads the output of the same level of the way down."""
    net = Net(cuts or {})
    axes = len(space)
    skips = list[tuple[str, int]]()
    at = masks(net, batch, (channels, *space), classes)
    for level, filters in enumerate(shape.down, start=1):
        net.note(f"down, level {level}")
        if level > 1:
            at = pool(net, f"d{level}-pool", at, axes)
        for i, count in enumerate(filters, start=1):
            at = convolution(net, f"d{level}-{i}", at, count, shape, axes)
        skips.append((at, filters[-1]))
    *rest, (at, wide) = skips
    for level, (skip, width) in reversed(list(enumerate(rest, start=1))):
        net.note(f"up, level {level}")
        at = up(net, f"u{level}", at, wide if shape.normalised else width, shape, axes)
        at = net.layer(f"u{level}-join", "kConcate", skip, at, conf="concate_conf { concate_dim: 1 }")
        for i in (1, 2):
            at = convolution(net, f"u{level}-{i}", at, width, shape, axes)
        wide = width
    net.note("a label for every place")
    at = net.convolution("classes", at, classes, 1, more=spatial(axes), bias=True)
    at = net.layer("flat", "kReshape", at, conf=f"reshape_conf {{ shape: [{classes}, {prod(space)}] }}")
    net.loss(net.layer("places", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }"))
    return net


def masks(net: Net, batch: int, shape: Sequence[int], classes: int) -> str:
    """Add synthetic images and masks: regions of a class each, in noise."""
    conf = f"store_conf {{ batchsize: {batch} shape: [{', '.join(map(str, shape))}] }}"
    return net.layer("data", "kSyntheticMasks", conf=f"{conf}\nsynthetic_conf {{ classes: {classes} }}")


def convolution(net: Net, name: str, source: str, filters: int, shape: Shape, axes: int) -> str:
    """A convolution of 3 along each axis; its batch normalisation, if there is one, has no scale of its own; ReLU."""
    at = net.convolution(f"{name}-conv", source, filters, 3, pad=1, more=spatial(axes), bias=True)
    if shape.normalised:
        at = net.layer(f"{name}-norm", "kBM", at)
    return net.relu(f"{name}-relu", at)


def up(net: Net, name: str, source: str, filters: int, shape: Shape, axes: int) -> str:
    """Twice the extent along each axis."""
    fields = " ".join(part for part in (f"num_filters: {filters} kernel: 2 stride: 2", spatial(axes)) if part)
    params = [HE, ZERO] if shape.bias else [HE]
    return net.layer(
        f"{name}-up", "kTransposedConvolution", source, conf=f"convolution_conf {{ {fields} }}", params=params
    )


def pool(net: Net, name: str, source: str, axes: int) -> str:
    """Half the extent along each axis."""
    fields = " ".join(part for part in ("kernel: 2 stride: 2", spatial(axes)) if part)
    return net.layer(name, "kPooling", source, conf=f"pooling_conf {{ {fields} }}")


def spatial(axes: int) -> str:
    """The field that says on how many axes windows move."""
    return f"spatial_axes: {axes}" if axes != 2 else ""
