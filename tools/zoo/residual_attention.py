"""The net of 3D-ResAttNet, see resattnet.py: residual blocks on volumes, with attention after the stages.

The paper does not specify the places of attention or the first layers. Here attention follows every stage of 4096
positions or fewer, and the first layers are ResNet's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tools.zoo.job import ZERO, Net

MOST = 4096
"""Positions that may all attend to each other."""
NARROW = 8
"""The channels of queries and keys are those of the stage divided by this."""
THREE = "spatial_axes: 3"
TEST_BATCH = 10
FOLDER = "../../data/phantom"


@dataclass(frozen=True)
class Shape:
    """Sizes of a net: residual blocks of each stage, channels of the first, extents of a scan, the stride of its
    first convolution."""

    blocks: Sequence[int]
    width: int
    space: Sequence[int]
    attention: bool = True
    stride: int = 2


@dataclass
class Scanning(Net):
    """A net that reads scans of ``table``; without one it reads synthetic volumes. ``reading`` has more fields of the
    input that reads scans, and ``altered`` those for training alone."""

    table: str = ""
    reading: str = ""
    altered: str = ""

    def volumes(self, batch: int, space: Sequence[int]) -> str:
        """The scans to train on, mirrored at random, and those to test on."""
        if not self.table:
            return self.data(batch, (1, *space), 2)
        extents = f"shape: [{', '.join(map(str, space))}]"
        training = " ".join(filter(None, ["flip: true shuffle: true", self.altered]))
        for phase, rows, more in (("Train", batch, training), ("Test", TEST_BATCH, "")):
            path = f'path: "{FOLDER}/{self.table}-{phase.lower()}.csv"'
            fields = " ".join(filter(None, [f"batchsize: {rows} {extents}", self.reading, more]))
            conf = f"include: k{phase}\nnifti_conf {{ {path}\n  {fields} }}"
            self.layer("data", "kNiftiInput", conf=conf)
        return "data"

    def confusion(self, prediction: str) -> None:
        """Add the confusion matrix to the tests of a net on scans."""
        if self.table:
            self.layer("confusion", "kConfusion", prediction, "data", conf="include: kTest")


def resattnet(
    shape: Shape,
    batch: int,
    cuts: Mapping[str, str] | None = None,
    table: str = "",
    reading: str = "",
    altered: str = "",
) -> Net:
    """A stem, stages that halve the volume and double the width, attention where it fits, the mean of each channel."""
    net = Scanning(cuts or {}, table=table, reading=reading, altered=altered)
    space = [-(-n // (2 * shape.stride)) for n in shape.space]
    at = net.convolution("conv1", net.volumes(batch, shape.space), shape.width, 3, shape.stride, pad=1, more=THREE)
    at = net.relu("relu1", net.norm("norm1", at))
    at = net.layer("pool1", "kPooling", at, conf=f"pooling_conf {{ kernel: 3 stride: 2 pad: 1 {THREE} }}")
    for stage, count in enumerate(shape.blocks, start=2):
        width = shape.width * 2 ** (stage - 2)
        space = [-(-n // 2) for n in space] if stage > 2 else space
        for i in range(1, count + 1):
            net.note(f"stage {stage}, block {i}")
            at = block(net, f"s{stage}b{i}", at, width, stage > 2 and i == 1)
        if shape.attention and prod(space) <= MOST:
            net.note(f"stage {stage}, attention of {prod(space)} positions")
            at = attention(net, f"s{stage}", at, width, space)
    net.note("classifier")
    at = net.product("fc", net.mean("mean", at), 2)
    net.confusion(at)
    net.loss(at)
    return net


def block(net: Net, name: str, source: str, width: int, halve: bool) -> str:
    """Two convolutions of 3 x 3 x 3 with a shortcut."""
    stride = 2 if halve else 1
    at = net.relu(f"{name}-1-relu", normalised(net, f"{name}-1", source, width, 3, stride))
    at = normalised(net, f"{name}-2", at, width, 3)
    if halve:
        source = normalised(net, f"{name}-shortcut", source, width, 1, stride)
    return net.relu(f"{name}-out", net.layer(f"{name}-add", "kAdd", at, source))


def normalised(net: Net, name: str, source: str, filters: int, kernel: int, stride: int = 1) -> str:
    """A convolution and its batch normalisation."""
    return net.norm(
        f"{name}-norm", net.convolution(f"{name}-conv", source, filters, kernel, stride, kernel // 2, THREE)
    )


def attention(net: Net, name: str, source: str, width: int, space: Sequence[int]) -> str:
    """Attention of every position to all others, through a gate that is closed at first, with a shortcut."""
    narrow = max(width // NARROW, 1)
    parts = [
        rows(net, f"{name}-{part}", source, filters, prod(space))
        for part, filters in (("query", narrow), ("key", narrow), ("value", width))
    ]
    at = net.layer(f"{name}-attention", "kAttention", *parts, conf="attention_conf { scale: 1 }")
    at = net.layer(f"{name}-found-flat", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }")
    extents = ", ".join(map(str, (width, *space)))
    at = net.layer(f"{name}-found", "kReshape", at, conf=f"reshape_conf {{ shape: [{extents}] }}")
    at = net.layer(f"{name}-gate", "kGate", at, params=[ZERO])
    return net.layer(f"{name}-join", "kAdd", at, source)


def rows(net: Net, name: str, source: str, filters: int, count: int) -> str:
    """A convolution of 1 x 1 x 1 as a row of features for every position."""
    at = net.convolution(name, source, filters, 1, more=THREE, bias=True)
    at = net.layer(f"{name}-flat", "kReshape", at, conf=f"reshape_conf {{ shape: [{filters}, {count}] }}")
    return net.layer(f"{name}-rows", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }")
