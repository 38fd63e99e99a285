"""3D-ResAttNet: Zhang et al., An Explainable 3D Residual Self-Attention Deep Neural Network, 2020; trained as in
Akintoye et al., A Hybrid Parallelization Approach, section 4. The same without attention is ResNet3D.

The papers leave open how large the scans are: here they are of 128 x 128 x 128 voxels. Nor do they specify the places
of attention or the first layers. Here attention follows every stage of 4096 positions or fewer, and the first layers
are ResNet's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

from netpart import LayerHandle, Net
from netpart.blocks.initialised_layers import he_convolution, initialised_batch_norm, initialised_product
from netpart.blocks.place_attention import volume_attention
from netpart.blocks.residual_blocks import basic_residual, residual_stage
from tools.zoo.job import CHANNELS, INPUT, REPLICA, SPACE, WHOLE, Cuts, images, zoo_net

BATCH, TEST_BATCH, SCANS = 16, 10, 80
"""Scans of a step of a reduced net, of a step of a test, and of a whole test."""
REDUCED = {"cache_mib": 100}, {"flip": True, "shuffle": True, "drift": 0.3}
"""Fields of the input of a reduced net: MiB of disk, in which a worker keeps the scans for the next epoch; those for
training, where without an alteration a net learns chance differences of only 320 scans."""
PUBLISHED = dict[str, Any](), {"flip": True, "shuffle": True}
MOST = 4096
"""Positions that may all attend to each other."""
NARROW = 8
"""The channels of queries and keys are those of the stage divided by this."""
Fields = Mapping[str, Any]
FOLDER = "../../data/phantom"
SIZES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
residual = partial(basic_residual, spatial_axes=3)


def jobs() -> Iterator[Net]:
    """Both as published, and the first without attention; reduced ones for the cohort of phantoms; small ones."""
    paper = "Trained as published: SGD, batches of 6, 50 epochs of 631 scans, learning rate from 1e-4 to 1e-6."
    hybrid = "The first stages are cut on space, the later ones on channels."
    scans = "for AD against NC on scans of 128 x 128 x 128 voxels"
    base = published("resattnet18", f"3D-ResAttNet18 {scans}. {paper} {hybrid}", SIZES[18], None)
    yield base
    yield published("resattnet34", f"3D-ResAttNet34 {scans}. {paper} {hybrid}", SIZES[34], base)
    about = f"ResNet3D-18, which is 3D-ResAttNet18 without attention. {paper} {hybrid}"
    yield published("resnet3d18", about, SIZES[18], base, attention=False)
    tasks = ("ad-nc", "AD against NC", 24), ("smci-pmci", "pMCI against sMCI", 48)
    for depth, (table, title, epochs) in product(SIZES, tasks):
        yield reduced(f"resattnet{depth}-{table}", SIZES[depth], table, title, epochs, base)
    yield reduced("resattnet18-ad-nc-async", SIZES[18], *tasks[0], base, groups=2)
    yield spacious(base)
    yield from small(base)


def trial(
    name: str, about: str, steps: int, rates: tuple[float, float], test_every: int, base: Net | None,
    momentum: float | None = None, groups: int = 1
) -> Net:  # fmt: skip
    """A job on scans that is tested; the learning rate falls along ``rates``; each of several ``groups`` of workers
    keeps its own parameters."""
    first, last = rates
    rate = {"type": "kLinear", "base_lr": first, "linear_conf": {"change_freq": steps, "final_lr": last}}
    ring = {"nworker_groups": groups, "nserver_groups": 0, "sync_freq": 1, "staleness": 1} if groups > 1 else {}
    return zoo_net(
        "resattnet", name, about, steps, first, base=base, disp_freq=max(steps // 50, 1),
        test_steps=SCANS // TEST_BATCH, test_freq=test_every,
        updater={"type": "kSGD", "momentum": momentum, "learning_rate": rate},
        cluster={**ring, "nworkers_per_group": 2 // groups, "workspace": f"out/{name}"},
    )  # fmt: skip


def published(name: str, about: str, blocks: Sequence[int], base: Net | None, attention: bool = True) -> Net:
    """A job with the protocol of section 4.4: 50 epochs of the 631 scans of AD and NC that are not for testing."""
    net, space = trial(name, about, 50 * 106, (1e-4, 1e-6), 1060, base), (128, 128, 128)
    data = scans(net, "ad-nc", 6, space, *PUBLISHED)
    resattnet(net, data, blocks, 64, space, attention, tested=True).cut(hybrid_cuts(SPACE))
    return net


def reduced(name: str, blocks: Sequence[int], table: str, task: str, epochs: int, base: Net, groups: int = 1) -> Net:
    """A net for the cohort of phantoms. ``groups`` average around a ring; each takes the steps of ``epochs``."""
    pace = ", trained asynchronously" if groups > 1 else ""
    about = (
        f"3D-ResAttNet{2 * sum(blocks) + 2} reduced, for {task} in the cohort of phantoms{pace}: scans of 40 x 48 x 40 "
        "voxels instead of 128 x 128 x 128, an eighth of the width, momentum, a larger learning rate, "
        f"{epochs * groups} epochs of 320 scans."
    )
    if groups > 1:
        about += (
            f" The {groups} groups of a worker, each on mini-batches of its own, average their parameters "
            "after every step, and bring the average in one step later."
        )
    net = trial(name, about, 20 * epochs * groups, (0.05, 0.0002), 80 * groups, base, 0.9, groups)
    data = scans(net, table, BATCH, (40, 48, 40), *REDUCED)
    return resattnet(net, data, blocks, 8, (40, 48, 40), tested=True)


def spacious(base: Net) -> Net:
    """A net whose first layer keeps the extents of a scan: its activations are what a worker may not have room for."""
    about = (
        "ResNet3D-18 made small, but its first layer has 16 channels of 128 x 128 x 128: all is cut on the first "
        "spatial axis, so that four workers hold what one may not."
    )
    net, space = zoo_net("resattnet", "resnet3d18-space", about, 4, 0.01, base=base), (128, 128, 128)
    resattnet(net, images(net, 1, (1, *space), 2), (1, 1), 16, space, attention=False, stride=1)
    net.cut({**dict.fromkeys(("data", "fc", "loss"), WHOLE), "mean": CHANNELS, "*": SPACE})
    return net


def small(base: Net) -> Iterator[Net]:
    """Nets that learn within a minute, on volumes that are made up."""
    tiny, space = "Two stages, an eighth of the width, volumes of 32 x 16 x 16. Learns within a minute.", (32, 16, 16)
    made, mixed = "3D-ResAttNet18 made small", "the first stage cut on space, the second on channels"
    nets: list[tuple[str, str, Sequence[int], Cuts]] = [
        ("resattnet18-small", f"{made}, every layer cut on the batch", (1, 1), {}),
        ("resattnet18-small-layers", f"{made}, every layer cut on its channels", (1, 1), layer_cuts()),
        ("resattnet18-small-mixed", f"{made}, {mixed}", (1, 1), hybrid_cuts()),
        ("resattnet34-small", "3D-ResAttNet34 made small, more blocks", (2, 2), {}),
        ("resnet3d18-small", "ResNet3D-18 made small", (1, 1), {}),
    ]
    for name, about, blocks, cuts in nets:
        net = zoo_net("resattnet", name, f"{about}. {tiny}", 60, 0.05, base=base)
        data, attention = images(net, 8, (1, *space), 2), name.startswith("resatt")
        resattnet(net, data, blocks, 8, space, attention).cut(cuts)
        yield net


def hybrid_cuts(data: Fields = WHOLE) -> Cuts:
    """What comes before the third stage on the first spatial axis, what follows on channels."""
    rows = dict.fromkeys(("s2-*-rows", "s2-attention"), CHANNELS)
    return {**rows, **dict.fromkeys(("*1", "s2b*", "s2-*"), SPACE), **layer_cuts(data)}


def layer_cuts(data: Fields = WHOLE) -> Cuts:
    """Everything on channels. Queries and keys, which have few, are copies; class scores are sums over channels."""
    copies = dict.fromkeys(("*-query*", "*-key*"), REPLICA)
    last = dict.fromkeys(("*-value-rows", "*-attention"), SPACE)
    return {**copies, **last, "data": data, "fc": INPUT, **dict.fromkeys(("loss", "confusion"), WHOLE), "*": CHANNELS}


def scans(net: Net, table: str, batch: int, space: Sequence[int], reading: Fields, training: Fields) -> LayerHandle:
    """The scans of ``table`` to train on, and those to test on."""
    for phase, rows, more in (("Train", batch, training), ("Test", TEST_BATCH, {})):
        fields = {"path": f"{FOLDER}/{table}-{phase.lower()}.csv", "batchsize": rows, "shape": space, **reading, **more}
        data = net.add_layer("kNiftiInput", name="data", include=f"k{phase}", **fields)
    return data


def resattnet(
    net: Net, data: LayerHandle, blocks: Sequence[int], width: int, space: Sequence[int],
    attention: bool = True, stride: int = 2, tested: bool = False
) -> Net:  # fmt: skip
    """A stem, stages that halve the volume and double the width, attention where it fits, the mean of each channel."""
    x = he_convolution(net, "conv1", data, width, 3, stride, spatial_axes=3)
    x = net.relu(initialised_batch_norm(net, "norm1", x), name="relu1")
    x = net.pooling(x, 3, stride=2, pad=1, spatial_axes=3, name="pool1")
    for stage, count in enumerate(blocks, start=2):
        net.comment(f"stage {stage}")
        filters, extents = width * 2 ** (stage - 2), [-(-n // (stride * 2 ** (stage - 1))) for n in space]
        changing = "halving" if stage > 2 else ""
        x = residual_stage(net, f"s{stage}b", count, x, residual, "residual", changing, 2, filters=filters)
        if attention and prod(extents) <= MOST:
            sizes: dict[str, Any] = {"filters": filters, "narrow": max(filters // NARROW, 1), "places": prod(extents)}
            sizes |= dict(zip("xyz", extents, strict=True))
            x = net.use(volume_attention, x, name=f"s{stage}", of="attention", **sizes)
    net.comment("classifier")
    x = net.global_pooling(x, name="mean")
    x = initialised_product(net, "fc", x, 2)
    if tested:
        net.confusion(x, data, name="confusion", include="kTest")
    net.softmax_loss(x, data, name="loss")
    return net
