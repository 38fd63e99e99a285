"""The net of 3D-ResAttNet, see resattnet.py: residual blocks on volumes, with attention after the stages.

The paper does not specify the places of attention or the first layers. Here attention follows every stage of 4096
positions or fewer, and the first layers are ResNet's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tools.zoo.job import HERE, ZERO, Net, Value

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
    shape: Shape, batch: int, cuts: Mapping[str, str] | None = None, table: str = "", reading: str = "",
    altered: str = "", base: Net | None = None,
) -> Net:  # fmt: skip
    """A stem, stages that halve the volume and double the width, attention where it fits, the mean of each channel.

    ``base`` is the net of resattnet18.conf, whose blocks this one uses; without it this is that net.
    """
    net = Scanning(cuts or {}, table=table, reading=reading, altered=altered)
    if base:
        net.include("resattnet18.conf", base)
    else:
        define_blocks(net)
    space = [-(-n // (2 * shape.stride)) for n in shape.space]
    at = net.convolution("conv1", net.volumes(batch, shape.space), shape.width, 3, shape.stride, pad=1, more=THREE)
    at = net.relu("relu1", net.norm("norm1", at))
    at = net.layer("pool1", "kPooling", at, conf=f"pooling_conf {{ kernel: 3 stride: 2 pad: 1 {THREE} }}")
    for stage, count in enumerate(shape.blocks, start=2):
        width = shape.width * 2 ** (stage - 2)
        space = [-(-n // 2) for n in space] if stage > 2 else space
        net.note(f"stage {stage}")
        at = add_stage(net, stage, count, width, at)
        if shape.attention and prod(space) <= MOST:
            at = add_attention(net, f"s{stage}", at, width, space)
    net.note("classifier")
    at = net.product("fc", net.mean("mean", at), 2)
    net.confusion(at)
    net.loss(at)
    return net


def add_stage(net: Net, stage: int, count: int, filters: int, source: str) -> str:
    """``count`` residual blocks, of which the first halves the volume unless the stage is the first."""
    name, first = f"s{stage}b", 1
    if stage > 2:
        source, first = net.use(f"{name}1", "halving", source, filters=filters), 2
    rest = count + 1 - first
    return net.use(name, "residual", source, times=rest, first=first, filters=filters) if rest else source


def add_attention(net: Net, name: str, source: str, width: int, space: Sequence[int]) -> str:
    """Attention of all positions of a stage."""
    x, y, z = space
    narrow = max(width // NARROW, 1)
    return net.use(name, "attention", source, filters=width, narrow=narrow, places=prod(space), x=x, y=y, z=z)


def define_blocks(net: Net) -> None:
    """Define all blocks."""
    define_residual(net, "residual", 1)
    define_residual(net, "halving", 2)
    define_rows(net)
    define_attention(net)


def define_residual(net: Net, name: str, stride: int) -> None:
    """Two convolutions of 3 x 3 x 3 with a shortcut."""
    block = net.block(name, "x", takes=["filters"])
    at = block.relu("1-relu", normalised(block, "1", "x", 3, stride))
    at = normalised(block, "2", at, 3)
    source = normalised(block, "shortcut", "x", 1, stride) if stride > 1 else "x"
    block.outputs = [block.relu("out", block.layer("add", "kAdd", at, source))]


def normalised(net: Net, name: str, source: str, kernel: int, stride: int = 1) -> str:
    """A convolution and its batch normalisation."""
    at = net.convolution(f"{name}-conv", source, "${filters}", kernel, stride, kernel // 2, THREE)
    return net.norm(f"{name}-norm", at)


def define_attention(net: Net) -> None:
    """Attention of every position to all others, through a gate that is closed at first, with a shortcut."""
    block = net.block("attention", "at", takes=["filters", "narrow", "places", "x", "y", "z"])
    widths: dict[str, Value] = {"query": "${narrow}", "key": "${narrow}", "value": "${filters}"}
    parts = [block.use(part, "rows", "at", wide=wide) for part, wide in widths.items()]
    at = block.layer("attention", "kAttention", *parts, conf="attention_conf { scale: 1 }")
    at = block.layer("found-flat", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }")
    at = block.layer("found", "kReshape", at, conf="reshape_conf { shape: [${filters}, ${x}, ${y}, ${z}] }")
    block.outputs = [block.layer("join", "kAdd", block.layer("gate", "kGate", at, params=[ZERO]), "at")]


def define_rows(net: Net) -> None:
    """A convolution of 1 x 1 x 1 as a row of features for every position."""
    block = net.block("rows", "at", takes=["wide"])
    at = block.convolution(HERE, "at", "${wide}", 1, more=THREE, bias=True)
    at = block.layer("flat", "kReshape", at, conf="reshape_conf { shape: [${wide}, ${places}] }")
    block.outputs = [block.layer("rows", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }")]
