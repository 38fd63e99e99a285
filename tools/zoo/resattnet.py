"""3D-ResAttNet: Zhang et al., An Explainable 3D Residual Self-Attention Deep Neural Network, 2020; trained as in
Akintoye et al., A Hybrid Parallelization Approach, section 4. The same without attention is ResNet3D.

The net itself is in residual_attention.py. The papers leave open how large the scans are: here they are of 128 x 128 x
128 voxels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from tools.zoo.job import Job, Net
from tools.zoo.residual_attention import TEST_BATCH, Shape, resattnet

BATCH = 16
"""Scans of a step of a reduced net."""
ALTERED = "drift: 0.3"
"""Alteration of its scans for training: without it a net learns chance differences of only 320 scans."""
KEPT = 100
"""MiB of disk, in which a worker keeps the scans of a reduced net for the next epoch."""


@dataclass(frozen=True)
class Trial(Job):
    """A job on scans that is tested: ``final_rate`` is where the learning rate falls to; ``scans`` are tested,
    every ``test_every`` steps; of several ``groups`` each keeps its own parameters."""

    groups: int = 1
    final_rate: float = 0.0
    scans: int = 0
    test_every: int = 0

    def training(self) -> list[str]:
        """How it is trained and tested."""
        fall = f"linear_conf {{ change_freq: {self.steps} final_lr: {self.final_rate:g} }}"
        rate = f"  learning_rate {{ type: kLinear base_lr: {self.rate:g} {fall} }}"
        momentum = f" momentum: {self.momentum:g}" if self.momentum else ""
        lines = [f'name: "{self.name}"', f"train_steps: {self.steps}", f"disp_freq: {max(self.steps // 50, 1)}"]
        lines += [f"test_steps: {self.scans // TEST_BATCH}", f"test_freq: {self.test_every}"]
        return [*lines, "train_one_batch { alg: kBP }", "updater {", f"  type: kSGD{momentum}", rate, "}"]

    def end(self) -> list[str]:
        """Where it runs."""
        first, *lines = super().end()
        ring = f"  nworker_groups: {self.groups} nserver_groups: 0 sync_freq: 1 staleness: 1"
        return [first, *[ring] * (self.groups > 1), *lines]


def jobs() -> Iterator[Job]:
    """Both as published, and the first without attention; reduced ones for the cohort of phantoms; small ones."""
    sizes = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
    hybrid = "The first stages are cut on space, the later ones on channels."
    paper = "Trained as published: SGD, batches of 6, 50 epochs of 631 scans, learning rate from 1e-4 to 1e-6."
    base: Net | None = None
    for depth, blocks in sizes.items():
        shape = Shape(blocks, 64, (128, 128, 128))
        about = f"3D-ResAttNet{depth} for AD against NC on scans of 128 x 128 x 128 voxels. {paper} {hybrid}"
        job = published(f"resattnet{depth}", about, shape, base)
        base = base or job.net
        yield job
    plain = Shape(sizes[18], 64, (128, 128, 128), attention=False)
    about = f"ResNet3D-18, which is 3D-ResAttNet18 without attention. {paper} {hybrid}"
    yield published("resnet3d18", about, plain, base)
    for depth, (table, title, epochs) in product(
        sizes, (("ad-nc", "AD against NC", 24), ("smci-pmci", "pMCI against sMCI", 48))
    ):
        yield reduced(f"resattnet{depth}-{table}", sizes[depth], table, title, epochs, base)
    ad = "ad-nc", "AD against NC", 24
    yield reduced("resattnet18-ad-nc-async", sizes[18], *ad, base, groups=2)
    yield spacious(base)
    yield from small(base)


def reduced(
    name: str, blocks: Sequence[int], table: str, task: str, epochs: int, base: Net | None, groups: int = 1
) -> Job:
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
    shape = Shape(blocks, 8, (40, 48, 40))
    net = resattnet(shape, BATCH, table=table, reading=f"cache_mib: {KEPT}", altered=ALTERED, base=base)
    steps = 20 * epochs * groups
    return Trial(
        "resattnet", name, about, net, steps, 0.05, 0.9, 2 // groups, groups, final_rate=0.0002, scans=80,
        test_every=80 * groups,
    )  # fmt: skip


def spacious(base: Net | None) -> Job:
    """A net whose first layer keeps the extents of a scan: its activations are what a worker may not have room for."""
    about = (
        "ResNet3D-18 made small, but its first layer has 16 channels of 128 x 128 x 128: all is cut on the first "
        "spatial axis, so that four workers hold what one may not."
    )
    cuts = {
        **dict.fromkeys(("data", "fc", "loss"), "partition_dim: -1"),
        "mean": "partition_dim: 1",
        "*": "partition_dim: 2",
    }
    net = resattnet(Shape((1, 1), 16, (128, 128, 128), attention=False, stride=1), 1, cuts, base=base)
    return Job("resattnet", "resnet3d18-space", about, net, 4, 0.01)


def published(name: str, about: str, shape: Shape, base: Net | None) -> Job:
    """A job with the protocol of section 4.4: 50 epochs of the 631 scans of AD and NC that are not for testing."""
    net = resattnet(shape, 6, hybrid_cuts("2"), "ad-nc", base=base)
    return Trial("resattnet", name, about, net, 50 * 106, 1e-4, 0.0, final_rate=1e-6, scans=80, test_every=1060)


def small(base: Net | None) -> Iterator[Job]:
    """Nets that learn within a minute, on volumes that are made up."""
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-layers": ("every layer cut on its channels", layer_cuts()),
        "-mixed": ("the first stage cut on space, the second on channels", hybrid_cuts()),
    }
    tiny = "Two stages, an eighth of the width, volumes of 32 x 16 x 16. Learns within a minute."
    for suffix, (wording, cut) in cuts.items():
        net = resattnet(Shape((1, 1), 8, (32, 16, 16)), 8, cut, base=base)
        yield Job(
            "resattnet", f"resattnet18-small{suffix}", f"3D-ResAttNet18 made small, {wording}. {tiny}", net, 60, 0.05
        )
    net = resattnet(Shape((2, 2), 8, (32, 16, 16)), 8, base=base)
    yield Job("resattnet", "resattnet34-small", f"3D-ResAttNet34 made small, more blocks. {tiny}", net, 60, 0.05)
    net = resattnet(Shape((1, 1), 8, (32, 16, 16), attention=False), 8, base=base)
    yield Job("resattnet", "resnet3d18-small", f"ResNet3D-18 made small. {tiny}", net, 60, 0.05)


def hybrid_cuts(data: str = "-1") -> Mapping[str, str]:
    """What comes before the third stage on the first spatial axis, what follows on channels."""
    space = dict.fromkeys(("*1", "s2b*", "s2-*"), "partition_dim: 2")
    rows = {f"s2-{name}": "partition_dim: 1" for name in ("*-rows", "attention")}
    return {**rows, **space, **layer_cuts(data)}


def layer_cuts(data: str = "-1") -> Mapping[str, str]:
    """Everything on channels. Queries and keys, which have few, are copies; class scores are sums over channels."""
    copies = {f"*-{part}*": "cut { over: REPLICA }" for part in ("query", "key")}
    last = dict.fromkeys(("*-value-rows", "*-attention"), "partition_dim: 2")
    ends = {"data": f"partition_dim: {data}", "fc": "cut { over: INPUT }", "loss": "partition_dim: -1"}
    return {**copies, **last, **ends, "confusion": "partition_dim: -1", "*": "partition_dim: 1"}
