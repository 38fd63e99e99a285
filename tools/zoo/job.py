"""What the jobs of the zoo have in common: how they train, what they say of themselves, and a few layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from netpart import LayerHandle, NamedValue, NestedLayers, Net

WIDTH = 117
"""Columns of a comment."""
HERE = "${instance}"
"""In the name of a layer of a block: the name of the instance, which the name then does not begin with."""
MADE = "Made by tools/make_zoo.py: a change belongs there."
HE: dict[str, Any] = {"init": {"type": "kGaussianSqrtFanIn", "value": 1.4142135}}
"""Normal with variance 2 / fan-in: keeps the variance through ReLUs (He et al., 2015)."""
ONE, ZERO = ({"init": {"type": "kConstant", "value": value}} for value in (1, 0))
NORMAL: dict[str, Any] = {"init": {"type": "kGaussian", "std": 0.02}}
WHOLE, BATCH, CHANNELS, SPACE = (dict[str, Any](partition_dim=axis) for axis in (-1, 0, 1, 2))
"""Cuts: none, on the batch, on channels (or the first axis of a row), on the first spatial axis (or the second)."""
INPUT, REPLICA = (dict[str, Any](cut={"over": over}) for over in ("INPUT", "REPLICA"))
Value = int | NamedValue
Cuts = Mapping[str, Mapping[str, Any]]


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


def convolution(
    net: NestedLayers, name: str, x: LayerHandle, filters: Value, kernel: int, stride: int = 1, bias: bool = False,
    **more: Any
) -> LayerHandle:  # fmt: skip
    """A convolution with the initial weights of He et al.; it keeps the extents but for its stride."""
    fields = {"stride": stride if stride > 1 else None, "pad": kernel // 2 or None} | more
    return net.convolution(x, filters, kernel, name=name, params=[HE, *[ZERO] * bias], **fields)


def normalised(net: NestedLayers, name: str, *given: Any, **more: Any) -> LayerHandle:
    """A convolution NAME-conv without bias, and its batch normalisation NAME-norm over the whole mini-batch."""
    return batch_norm(net, f"{name}-norm", convolution(net, f"{name}-conv", *given, **more))


def batch_norm(net: NestedLayers, name: str, x: LayerHandle) -> LayerHandle:
    """Batch normalisation over the whole mini-batch, wherever its rows are."""
    return net.bm(x, name=name, params=[ONE, ZERO])


def product(
    net: NestedLayers, name: str, x: LayerHandle, outputs: Value, init: Mapping[str, Any] = NORMAL, **more: Any
) -> LayerHandle:
    """An inner product with a bias."""
    return net.inner_product(x, outputs, name=name, params=[init, ZERO], **more)


def classifier(net: Net, name: str, x: LayerHandle, data: LayerHandle, classes: int) -> None:
    """The product that has the scores of the classes, and the loss."""
    net.softmax_loss(product(net, name, x, classes), data, name="loss")
