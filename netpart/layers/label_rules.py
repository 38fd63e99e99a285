"""Rules of labels that several layer types share: weights of classes, labels that are ignored, shares of the rest."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.layers.checks import fault
from netpart.layers.layer import Layer

COUNTED = "counted"
"""The sum of the rows whose label is not ignored. It is the divisor of the accuracy, and is not reported itself."""


def read_class_weights(layer: Layer, classes: int) -> tuple[float, ...] | None:
    """The class weights of a softmax loss; None if it has none. Raises ConfigError unless they fit ``classes``."""
    weights = tuple(layer.conf.softmaxloss_conf.class_weight)
    at = ("softmaxloss_conf", "class_weight")
    if weights and len(weights) != classes:
        hint = "write class_weight once per class, class 0 first"
        raise fault(layer, f"{classes} class weights, as there are classes", str(len(weights)), hint, *at)
    for k, weight in enumerate(weights):
        if weight < 0:
            hint = "write 0 for a class that counts for nothing"
            raise fault(layer, "a class weight of at least 0", f"{weight:g}", hint, *at, k)
    if weights and not any(weights):
        raise fault(layer, "a class weight above 0", "only 0", "give the classes that count a weight", *at)
    return weights or None


def read_argsort_ignored(layer: Layer) -> int | None:
    """The ``ignore_index`` of ``argsort_conf``; None if it is unset."""
    conf = layer.conf.argsort_conf
    return int(conf.ignore_index) if conf.HasField("ignore_index") else None


def mean_figures(names: Sequence[str], sums: Sequence[float], rows: int) -> dict[str, float]:
    """The means of sums over ``rows`` rows, and the accuracy over the counted rows; without any, it is omitted."""
    found = dict(zip(names, sums, strict=True))
    counted = found.pop(COUNTED, None)
    means = {name: total / rows for name, total in found.items()}
    if counted:
        means["accuracy"] = found["accuracy"] / counted
    elif counted is not None:
        del means["accuracy"]
    return means
