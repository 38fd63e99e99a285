"""The cut net against the uncut one on the same data: activations, gradients, parameters, metrics, step by step.

    error = ||cut - uncut|| / max(||uncut||, TINY)        bound: 1e-11 in float64, 1e-5 in float32

Both nets are played in this process: the cut one by all its workers in turn. A tensor is compared whole, put together
from its parts. Comparisons stand in the order in which a step computes them, so the first one outside its bound is
where the cut went wrong; everything behind it may only have inherited the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition, partition_job
from netpart.graph.ready import check_ready
from netpart.launch.ensemble import Ensemble
from netpart.plan.partition import partition
from netpart.proto.job_pb2 import JobProto
from netpart.spec import FLOAT, INT

Values = np.ndarray[Any, Any]

BOUNDS = {"float64": 1e-11, "float32": 1e-5}
"""The law n workers = 1 worker, and what rounding leaves of it in float32 after a few steps (decision 17)."""
TINY = 1e-3
"""Norm below which a tensor counts as rounding: gradients that cancel, as those of a bias that moves all classes."""

ACTIVATION, GRADIENT, METRIC = "activation", "gradient", "metric"
PARAMETER_GRADIENT, PARAMETER = "parameter gradient", "parameter"
KINDS = (ACTIVATION, METRIC, GRADIENT, PARAMETER_GRADIENT, PARAMETER)


@dataclass(frozen=True)
class Comparison:
    """How far one tensor of the cut net is from the uncut one's: ``name`` is an output, a parameter or a metric."""

    phase: str
    step: int
    kind: str
    layer: str
    name: str
    error: float
    bound: float

    @property
    def holds(self) -> bool:
        """True if the error is within its bound."""
        return self.error <= self.bound

    def __str__(self) -> str:
        what = self.kind if self.name == self.layer else f"{self.kind} {self.name}"
        return f"{self.layer}: {what} in {self.phase} step {self.step}: error {self.error:.1e}, bound {self.bound:.0e}"


@dataclass(frozen=True)
class Report:
    """All comparisons of a job, in the order in which its steps compute them."""

    job: str
    workers: int
    steps: int
    dtype: str
    micro_batches: int
    comparisons: tuple[Comparison, ...]

    @property
    def holds(self) -> bool:
        """True if the cut net computes what the uncut one computes."""
        return self.first is None

    @cached_property
    def first(self) -> Comparison | None:
        """The first comparison outside its bound."""
        return next((c for c in self.comparisons if not c.holds), None)

    @cached_property
    def worst(self) -> dict[tuple[str, str], float]:
        """The largest error by (layer, kind)."""
        found: dict[tuple[str, str], float] = {}
        for c in self.comparisons:
            found[c.layer, c.kind] = max(c.error, found.get((c.layer, c.kind), 0.0))
        return found

    def to_json(self) -> dict[str, Any]:
        """The report as values of JSON; an error that is no number is None."""
        rows = [
            {**asdict(c), "error": c.error if isfinite(c.error) else None, "holds": c.holds} for c in self.comparisons
        ]
        head = {name: getattr(self, name) for name in ("job", "workers", "steps", "dtype", "micro_batches", "holds")}
        return {**head, "first": str(self.first) if self.first else None, "comparisons": rows}


def verify(job: JobProto, workers: int, steps: int = 3, folder: Path | None = None) -> Report:
    """Plays ``steps`` training steps of ``job`` cut over ``workers`` and uncut, then one of each other phase it has.

    The uncut net has one worker and one micro-batch. Raises ConfigError for a job that cannot be built, DataError
    for its data, MemoryRefused where both nets do not fit into this process.
    """
    cut, whole = partition(job, workers, folder), uncut(job, folder)
    check_ready(cut)
    bench = Bench(Ensemble(cut, keep=True), Ensemble(whole, keep=True), bound_of(job))
    comparisons = tuple(bench.play(steps))
    dtype = "float64" if job.dtype == JobProto.FLOAT64 else "float32"
    return Report(cut.graph.net.name, workers, steps, dtype, len(cut.phases["train"]), comparisons)


def uncut(job: JobProto, folder: Path | None) -> Partition:
    """The net that every cut must equal: whole, on one worker, the mini-batch in one piece."""
    plain = JobProto()
    plain.CopyFrom(job)
    plain.neuralnet.micro_batches = 1
    return partition_job(plain, 1, folder, uncut=True)


def bound_of(job: JobProto) -> float:
    """The bound for the job's dtype."""
    return BOUNDS["float64" if job.dtype == JobProto.FLOAT64 else "float32"]


class Bench:
    """Both nets side by side; ``bound`` is the largest error allowed."""

    def __init__(self, cut: Ensemble, whole: Ensemble, bound: float) -> None:
        self.cut, self.whole, self.bound = cut, whole, bound

    def play(self, steps: int) -> Iterator[Comparison]:
        """Initialises both, trains ``steps`` steps, plays one step of every other phase, and compares all along."""
        for ensemble in (self.cut, self.whole):
            ensemble.initialise()
        for step in range(steps):
            yield from self.step("train", step)
        for phase in self.whole.partition.phases:
            if phase != "train":
                yield from self.step(phase, 0)

    def step(self, phase: str, step: int) -> Iterator[Comparison]:
        """One step of both nets and everything that can be compared after it, in the order of computation."""
        found, expected = self.cut.step(phase, step), self.whole.step(phase, step)
        net = self.whole.partition.phases[phase][0].graph.net
        yield from (self.of(phase, step, *rest) for rest in self.forward(phase, net))
        for metric, value in expected.items():
            layer, name = metric.rsplit("/", 1)
            yield self.of(phase, step, METRIC, layer, name, error(np.array(found[metric]), np.array(value)))
        if phase == "train":
            yield from (self.of(phase, step, *rest) for rest in self.backward(net))
            yield from (self.of(phase, step, *rest) for rest in self.updated(net))

    def of(self, phase: str, step: int, kind: str, layer: str, name: str, error: float) -> Comparison:
        return Comparison(phase, step, kind, layer, name, error, self.bound)

    def forward(self, phase: str, net: Net) -> Iterator[tuple[str, str, str, float]]:
        """Every output of every layer, sources first."""
        for node in net.nodes:
            for output, spec in enumerate(node.layer.outputs):
                if spec.dtype in (FLOAT, INT):
                    pair = (e.activation(phase, node.name, output) for e in (self.cut, self.whole))
                    name = node.layer.output_names[output] if len(node.layer.outputs) > 1 else node.name
                    yield ACTIVATION, node.name, name, error(*pair)

    def backward(self, net: Net) -> Iterator[tuple[str, str, str, float]]:
        """The gradient of every layer's output and then of its parameters, losses first."""
        for node in reversed(net.nodes):
            expected = self.whole.gradient("train", node.name)
            found = self.cut.gradient("train", node.name)
            if expected is not None:
                yield GRADIENT, node.name, node.name, error(found, expected)
            yield from self.parameters(node, PARAMETER_GRADIENT)

    def updated(self, net: Net) -> Iterator[tuple[str, str, str, float]]:
        """Every parameter after the update."""
        for node in net.nodes:
            yield from self.parameters(node, PARAMETER)

    def parameters(self, node: Node, kind: str) -> Iterator[tuple[str, str, str, float]]:
        """What a layer owns: its parameters or their gradients."""
        gradient = kind == PARAMETER_GRADIENT
        for parameter in dict.fromkeys(node.params):
            if parameter.owner == node.index and not (gradient and parameter.name not in self.whole.partition.trained):
                pair = (e.parameter(parameter.name, gradient) for e in (self.cut, self.whole))
                yield kind, node.name, parameter.name.removeprefix(f"{node.name}/"), error(*pair)


def error(found: Values | None, expected: Values) -> float:
    """||found - expected|| / max(||expected||, TINY); infinite if anything is missing or no number."""
    if found is None or found.shape != expected.shape:
        return float("inf")
    size = float(np.linalg.norm((found - expected).astype(np.float64))) / max(
        float(np.linalg.norm(expected.astype(np.float64))), TINY
    )
    return size if isfinite(size) else float("inf")
