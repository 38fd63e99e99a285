"""Bench: the cut net and the uncut one side by side in this process, step by step, tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from netpart.graph.net import Net, Node, Parameter
from netpart.spec import FLOAT, INT
from netpart.verify.difference import TensorDifference, Values, largest_difference, tensor_difference
from netpart.verify.report import ACTIVATION, AVERAGE, GRADIENT, METRIC, PARAMETER, PARAMETER_GRADIENT, TensorComparison
from netpart.verify.terms import TermCounts
from netpart.worker.ensemble import Ensemble

Row = tuple[str, str, str, int, TensorDifference, float]
"""Kind, layer, name, n, difference and error of one comparison."""


class ComparisonBench:
    """Plays both nets and compares all they can be asked; a tensor is put together from its parts.

    Where several workers hold an element, its largest and its smallest copy are compared. ``exact`` is the uncut net in
    a wider type, beside which the uncut one shows how much it errs itself.
    """

    def __init__(self, cut: Ensemble, whole: Ensemble, exact: Ensemble | None = None) -> None:
        self.cut = cut
        self.whole = whole
        self.exact = exact
        self.ensembles = [ensemble for ensemble in (cut, whole, exact) if ensemble is not None]
        self.terms = TermCounts(cut.partition)
        self.before: dict[str, Values] = {}
        self.dtype = np.dtype(whole.dtype).name
        self.averages = bool(whole.partition.job.updater.ema_decay)

    def play(self, steps: int) -> Iterator[TensorComparison]:
        """Initialises both, trains ``steps`` steps, plays one step of every other phase, and compares all along."""
        for ensemble in self.ensembles:
            ensemble.initialise()
        for step in range(steps):
            yield from self.step("train", step)
        for phase in self.whole.partition.phases:
            if phase != "train":
                yield from self.step(phase, 0)

    def step(self, phase: str, step: int) -> Iterator[TensorComparison]:
        """One step of both nets and everything that can be compared after it, in the order of computation."""
        self.before = {p.name: self.whole.parameter(p.name) for p in self.whole.partition.parameters}
        metrics = [ensemble.step(phase, step) for ensemble in self.ensembles]
        net = self.whole.partition.phases[phase][0].graph.net
        rows = [*self.forward(phase, net), *self.metrics(net, *metrics)]
        if phase == "train":
            rows += [*self.backward(net), *self.updated(net)]
        for kind, layer, name, n, apart, error in rows:
            yield TensorComparison(phase, step, kind, layer, name, apart, n, self.dtype, error)

    def forward(self, phase: str, net: Net) -> Iterator[Row]:
        """Every output of every layer, sources first."""
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
        """What the losses report: sums over the rows."""
        for metric, value in expected.items():
            layer, name = metric.rsplit("/", 1)
            apart = tensor_difference(np.array(found[metric]), np.array(value), self.dtype)
            error = self.error(np.array(value), [np.array(each[metric]) for each in exact])
            yield METRIC, layer, name, self.terms.outputs[layer] + net.rows, apart, error

    def backward(self, net: Net) -> Iterator[Row]:
        """The gradient of every layer's output and then of its parameters, losses first."""
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
        """Every parameter after the update, and its average where there is one."""
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
        """How far the copies of a tensor that all ensembles know by the same name are from the uncut one, and how far
        that is, relatively, from the exact one."""
        expected = getattr(self.whole, what)(*which)
        copies = [getattr(self.cut, what)(*which, pick=pick) for pick in (np.maximum, np.minimum)]
        exact = [getattr(self.exact, what)(*which)] if self.exact else []
        return largest_difference([tensor_difference(copy, expected, self.dtype) for copy in copies]), self.error(
            expected, exact
        )

    def error(self, expected: Values, exact: Sequence[Values]) -> float:
        """How much the uncut net errs, relatively, as far as that can be told."""
        found = sum(tensor_difference(each, expected, self.dtype).relative for each in exact)
        return found if isfinite(found) else 0.0


def owned_parameters(node: Node) -> Iterator[Parameter]:
    """The parameters that a layer initialises."""
    return (p for p in dict.fromkeys(node.params) if p.owner == node.index)
