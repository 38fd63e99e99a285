"""What the jobs of the zoo have in common: how they train, what they say of themselves, their data and classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from netpart import LayerHandle, Net
from netpart.blocks.initialised_layers import initialised_product
from netpart.blocks.transformer_blocks import SEQUENCE_CUTS

WIDTH = 117
"""Columns of a comment."""
SMALL_IMAGES = "images of 32 x 32, ten classes. Learns within a minute."
"""How the comments of small nets of images end."""
MADE = "Made by tools/make_zoo.py: a change belongs there."
WHOLE, BATCH, CHANNELS, SPACE = (dict[str, Any](partition_dim=axis) for axis in (-1, 0, 1, 2))
"""Cuts: none, on the batch, on channels (or the first axis of a row), on the first spatial axis (or the second)."""
INPUT, REPLICA = (dict[str, Any](cut={"over": over}) for over in ("INPUT", "REPLICA"))
Cuts = Mapping[str, Mapping[str, Any]]
MEGATRON: Cuts = {
    **SEQUENCE_CUTS, "data": WHOLE, "next": SPACE, "loss": BATCH, "*": {**REPLICA, "sum_gradient": True},
}  # fmt: skip
"""Shoeybi et al., Megatron-LM, 2019: layers between the products are whole on every worker."""


def zoo_net(
    family: str, name: str, about: str, steps: int, rate: float, *, momentum: float = 0.9, workers: int = 2,
    base: Net | None = None, **more: Any
) -> Net:  # fmt: skip
    """The job graphs/FAMILY/NAME.conf without its layers; momentum 0 means Adam.

    ``base`` is the net whose blocks it uses; ``more`` are other fields of the job, in place of these or besides.
    """
    path = f"graphs/{family}/{name}.conf"
    head = [*wrap(about, WIDTH), "", f"    netpart check {path}", f"    netpart run {path}", "", MADE]
    kind = {"type": "kSGD", "momentum": momentum} if momentum else {"type": "kAdam"}
    updater = {**kind, "learning_rate": {"type": "kFixed", "base_lr": rate}}
    cluster = {"nworkers_per_group": workers, "workspace": f"out/{name}"}
    fields = {"train_steps": steps, "disp_freq": max(steps // 10, 1)} | more
    given = {"train_one_batch": {"alg": "kBP"}, "updater": updater, "neuralnet": {"remainder": "SPREAD"}}
    net = Net(name, about="\n".join(head), **{**fields, **given, "cluster": cluster, **more})
    if base:
        net.include(f"{base.name}.conf", base)
    return net


def images(net: Net, batch: int, shape: Sequence[int], classes: int) -> LayerHandle:
    """Add synthetic data: a pattern per class, plus noise. Few classes get less noise: they are learnt faster."""
    noise = 0.5 if classes < 100 else None
    return net.synthetic_input(name="data", batchsize=batch, shape=shape, classes=classes, noise=noise)


def classifier(net: Net, name: str, x: LayerHandle, data: LayerHandle, classes: int) -> Net:
    """The product that has the scores of the classes, and the loss, with which the net is complete."""
    net.softmax_loss(initialised_product(net, name, x, classes), data, name="loss")
    return net
