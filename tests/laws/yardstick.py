"""The harness of the law of kernel sets: fast float32 kernels may err as the float32 reference errs, and little more.

Three nets play the same steps from the same weights: the uncut one in float64, which counts as exact; the uncut one in
float32 with the reference kernels, whose error is the yardstick; the fast one in float32, cut or not. Every step begins
with the same weights again, so that what is measured is the rounding of one step.

Rounding may decide: of nearly equal numbers another is the largest of a window, a number next to 0 gets through a ReLU
or does not. A step in which a float32 net decides otherwise than the exact one says nothing about gradients, which are
then those of another branch; it only counts if what was decided was a near tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.kernels.activation import SIX
from netpart.layers.batch_norm import BatchNorm
from netpart.layers.elementwise import ElementwiseActivation
from netpart.layers.global_pooling import GlobalPooling
from netpart.layers.layer import Layer
from netpart.layers.maximum import Maximum
from netpart.layers.pooling import Pooling
from netpart.spec import FLOAT, relative_slices, whole_region
from netpart.verify.bench import owned_parameters
from netpart.worker.ensemble import Ensemble

EPS = float(np.finfo(np.float32).eps)
TIMES, ROUNDINGS = 8, 16
"""What an error may be: so many times the yardstick's, and so many eps of the tensor's scale."""
NEAR = 256
"""How near, in eps of the largest number of a tensor, two numbers are that may be taken for each other."""

Values = np.ndarray[Any, Any]


class Found(NamedTuple):
    """Errors of one tensor, as norms; ``scale`` is the norm of the tensor, or of addends that cancel."""

    name: str
    scale: float
    yardstick: float
    error: float
    eps: float

    @property
    def holds(self) -> bool:
        return self.error <= TIMES * self.yardstick + ROUNDINGS * self.eps * self.scale


class Yardstick:
    """``exact`` and ``whole`` are the uncut net in float64 and float32; ``fast`` plays it with the fast kernels, cut or
    not, and keeps its values. ``eps`` is that of the numbers that are stored."""

    def __init__(self, exact: Partition, whole: Partition, fast: Ensemble, eps: float = EPS) -> None:
        self.eps = eps
        self.exact = Ensemble(exact, keep=True)
        self.plain = Ensemble(whole, keep=True)
        self.fast = fast
        self.net = exact.phases["train"][0].graph.net
        self.ensembles = self.exact, self.plain, self.fast
        for ensemble in self.ensembles:
            ensemble.initialise()

    def step(self, step: int) -> Iterator[Found]:
        """Plays one training step; activations, and gradients unless a near tie was decided otherwise."""
        for ensemble in self.ensembles:
            put_weights(self.plain, ensemble)
        for ensemble in self.ensembles:
            ensemble.step("train", step)
        yield from self.activations()
        if not self.near_ties():
            yield from self.gradients()

    def activations(self) -> Iterator[Found]:
        for node in self.net.nodes:
            for output, spec in enumerate(node.layer.outputs):
                if spec.dtype == FLOAT:
                    values = [e.activation("train", node.name, output) for e in self.ensembles]
                    yield found(f"{node.name} {output}", values, self.eps)

    def gradients(self) -> Iterator[Found]:
        for node in reversed(self.net.nodes):
            above = self.exact.gradient("train", node.name)
            if above is not None:
                values = [e.gradient("train", node.name) for e in self.ensembles]
                yield found(f"the gradient of {node.name}", values, self.eps)
            for p in owned_parameters(node):
                if p.name in self.exact.partition.trained:
                    values = [e.parameter(p.name, gradient=True) for e in self.ensembles]
                    yield found(f"the gradient of {p.name}", values, self.eps, self.addends(node, p.name, above))

    def addends(self, node: Node, parameter: str, above: Values | None) -> float:
        """What the gradient of a parameter would be if its addends did not cancel: the norm of what comes from above.

        A bias in front of a batch norm moves nothing; what is computed for it is rounding. Of a running mean it is
        the norm of numbers as large as those that the mean is taken of.
        """
        if isinstance(node.layer, BatchNorm) and parameter.endswith("/mean"):
            x = self.read(self.exact, node)[0]
            return float(np.linalg.norm(x)) * sqrt(x.shape[1] / x.size)
        return 0.0 if above is None else float(np.linalg.norm(above))

    def near_ties(self) -> bool:
        """True if a float32 net decided otherwise than the exact one; raises AssertionError if that was no near tie."""
        several = False
        for node in self.net.nodes:
            rights, *others = (candidates(node.layer, self.read(e, node)) for e in self.ensembles)
            for right, *tried in zip(rights, *others, strict=True):
                apart = max(regret(right, other) for other in tried)
                near = min(NEAR * self.eps, 1.0) * np.abs(right[np.isfinite(right)]).max(initial=0)
                assert apart <= near, f"{node.name}: {apart}"
                several |= any(not np.array_equal(right.argmax(0), other.argmax(0)) for other in tried)
        return several

    def read(self, ensemble: Ensemble, node: Node) -> list[Values]:
        """What a layer reads."""
        sources = ((self.net.nodes[s.node].name, s.output) for s in node.sources)
        return [ensemble.activation("train", *source) for source in sources]


def found(name: str, values: Sequence[Values | None], eps: float, least: float = 0.0) -> Found:
    right, *others = values
    assert right is not None
    scale = max(least, float(np.linalg.norm(right)))
    yardstick, error = (float(np.linalg.norm(other - right)) for other in others)
    return Found(name, scale, yardstick, error, eps)


def regret(right: Values, other: Values) -> float:
    """How much smaller than the largest candidates those are that ``other`` takes for the largest."""
    most, taken = right.max(0), np.take_along_axis(right, other.argmax(0)[None], 0)[0]
    otherwise = most != taken  # not so where a window holds padding alone: infinity less infinity is no number
    return float((most[otherwise] - taken[otherwise]).max(initial=0))


def candidates(layer: Layer, xs: list[Values]) -> list[Values]:
    """Arrays (choices, ...) along whose first axis a layer looks for the largest."""
    if isinstance(layer, ElementwiseActivation) and layer.kind() in ("relu", "relu6", "elu"):
        return [np.stack((xs[0], np.full_like(xs[0], bound))) for bound in (0, SIX)]
    if isinstance(layer, Maximum):
        return [np.stack(np.broadcast_arrays(*xs))]
    if isinstance(layer, GlobalPooling) and layer.method == "MAX":
        return [np.moveaxis(xs[0].reshape(*xs[0].shape[:2], -1), -1, 0)]
    return [windows(layer, xs[0])] if isinstance(layer, Pooling) and layer.method == "MAX" else []


def windows(layer: Pooling, x: Values) -> Values:
    """The elements of each window, in row-major order; padding is as small as can be."""
    axes, sliding = layer.axes, layer.sliding
    pads = [(0, 0)] * (x.ndim - axes) + [
        (p, e + k) for p, e, k in zip(sliding.pad, sliding.ends, sliding.kernel, strict=True)
    ]
    padded = np.pad(x, pads, constant_values=-np.inf)
    every = np.lib.stride_tricks.sliding_window_view(padded, sliding.kernel, tuple(range(x.ndim - axes, x.ndim)))
    steps = [slice(0, n * s, s) for n, s in zip(sliding.outputs, sliding.stride, strict=True)]
    chosen = every[(*(slice(None) for _ in range(x.ndim - axes)), *steps)]
    return np.moveaxis(chosen.reshape(*chosen.shape[:-axes], -1), -1, 0)


def put_weights(source: Ensemble, target: Ensemble) -> None:
    """Gives ``target`` the parameters of ``source``."""
    for parameter in source.partition.parameters:
        values = source.parameter(parameter.name)
        for _, box, copy in target.copies(parameter.name):
            copy[...] = values[relative_slices(box, whole_region(values.shape))]
