"""ComparisonBench: runs the cut net and the uncut net in this process and compares them tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from netpart.graph.net import Net, Node, Parameter
from netpart.progress import track_items
from netpart.spec import BFLOAT16, FLOAT, INT
from netpart.verify.difference import TensorDifference, Values, largest_difference, tensor_difference
from netpart.verify.report import ACTIVATION, AVERAGE, GRADIENT, METRIC, PARAMETER, PARAMETER_GRADIENT, TensorComparison
from netpart.verify.terms import TermCounts
from netpart.worker.ensemble import Ensemble

Row = tuple[str, str, str, int, TensorDifference, float]
"""(kind, layer, name, n of the bound, difference, error of the uncut net) of one comparison."""


class ComparisonBench:
    """Comparison of all tensors that both nets have; a tensor of the cut net is assembled from its parts.

    If several workers hold an element, its largest and its smallest copy are compared. ``exact`` is the uncut net in a
    wider type: its difference from the uncut net is the rounding error of the uncut net itself.
    """

    def __init__(self, cut: Ensemble, whole: Ensemble, exact: Ensemble | None = None) -> None:
        self.cut = cut
        self.whole = whole
        self.exact = exact
        self.ensembles = [ensemble for ensemble in (cut, whole, exact) if ensemble is not None]
        self.terms = TermCounts(cut.partition)
        self.before: dict[str, Values] = {}
        narrow = whole.partition.graph.net.narrow
        self.dtype = BFLOAT16 if narrow else np.dtype(whole.dtype).name
        self.averages = bool(whole.partition.job.updater.ema_decay)

    def play(self, steps: int) -> Iterator[TensorComparison]:
        """Yield the comparisons of ``steps`` training steps and then of one step of every other phase."""
        for ensemble in self.ensembles:
            ensemble.initialise()
        for step in track_items(range(steps), "step"):
            yield from self.step("train", step)
        for phase in self.whole.partition.phases:
            if phase != "train":
                yield from self.step(phase, 0)

    def step(self, phase: str, step: int) -> Iterator[TensorComparison]:
        """Run one step of all nets and yield all comparisons after it, in the order of computation."""
        self.before = {p.name: self.whole.parameter(p.name) for p in self.whole.partition.parameters}
        metrics = [ensemble.step(phase, step) for ensemble in self.ensembles]
        net = self.whole.partition.phases[phase][0].graph.net
        rows = [*self.forward(phase, net), *self.metrics(net, *metrics)]
        if phase == "train":
            rows += [*self.backward(net), *self.updated(net)]
        for kind, layer, name, n, apart, error in rows:
            yield TensorComparison(phase, step, kind, layer, name, apart, n, self.dtype, error)

    def forward(self, phase: str, net: Net) -> Iterator[Row]:
        """Compare every output of every layer, sources first."""
        self.terms.forward(net)
        for node in net.nodes:
            for output, spec in enumerate(node.layer.outputs):
                if spec.dtype in (FLOAT, INT):
                    name = node.layer.output_names[output] if len(node.layer.outputs) > 1 else node.name
                    apart = self.copies_apart("activation", phase, node.name, output)
                    yield ACTIVATION, node.name, name, self.terms.outputs[node.name], *apart

    def metrics(
        self, net: Net, found: dict[str, float], expected: dict[str, float], *exact: dict[str, float]
    ) -> Iterator[Row]:
        """Compare the metrics of the losses: sums over the rows."""
        for metric, value in expected.items():
            layer, name = metric.rsplit("/", 1)
            apart = tensor_difference(np.array(found[metric]), np.array(value), self.dtype)
            error = self.error(np.array(value), [np.array(each[metric]) for each in exact])
            yield METRIC, layer, name, self.terms.outputs[layer] + net.rows, apart, error

    def backward(self, net: Net) -> Iterator[Row]:
        """Compare the gradient of every layer's output and then of its parameters, losses first."""
        self.terms.backward(net)
        for node in reversed(net.nodes):
            if self.whole.gradient("train", node.name) is not None:
                apart = self.copies_apart("gradient", "train", node.name)
                yield GRADIENT, node.name, node.name, self.terms.gradients[node.name], *apart
            for p in owned_parameters(node):
                if p.name in self.whole.partition.trained:
                    apart = self.copies_apart("parameter", p.name, True)
                    n = self.terms.parameter_gradients[p.name]
                    yield PARAMETER_GRADIENT, node.name, p.name.removeprefix(f"{node.name}/"), n, *apart

    def updated(self, net: Net) -> Iterator[Row]:
        """Compare every parameter after the update, and its average if there is one."""
        steps = {name: tensor_difference(w, self.whole.parameter(name), self.dtype) for name, w in self.before.items()}
        self.terms.update({name: step.relative for name, step in steps.items()})
        for node in net.nodes:
            for p in owned_parameters(node):
                name = p.name.removeprefix(f"{node.name}/")
                n = self.terms.parameters[p.name]
                yield PARAMETER, node.name, name, n, *self.copies_apart("parameter", p.name)
                if self.averages:
                    yield AVERAGE, node.name, name, n, *self.copies_apart("average", p.name)

    def copies_apart(self, what: str, *which: Any) -> tuple[TensorDifference, float]:
        """Return the difference of the copies of a tensor from the uncut one, and the relative error of the latter.

        ``what`` is the method of an ensemble that returns the tensor, ``which`` are its arguments.
        """
        expected = getattr(self.whole, what)(*which)
        # With the largest and the smallest copy of each element, all other copies lie in between.
        copies = [getattr(self.cut, what)(*which, pick=pick) for pick in (np.maximum, np.minimum)]
        exact = [getattr(self.exact, what)(*which)] if self.exact else []
        return largest_difference([tensor_difference(copy, expected, self.dtype) for copy in copies]), self.error(
            expected, exact
        )

    def error(self, expected: Values, exact: Sequence[Values]) -> float:
        """The relative error of the uncut net; 0 without an exact net, and if it is not finite."""
        found = sum(tensor_difference(each, expected, self.dtype).relative for each in exact)
        return found if isfinite(found) else 0.0


def owned_parameters(node: Node) -> Iterator[Parameter]:
    """The parameters that a layer owns and initialises, each once."""
    return (p for p in dict.fromkeys(node.params) if p.owner == node.index)
