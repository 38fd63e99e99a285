"""What was compared, and what it says: each tensor, each layer, the first that leaves its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from netpart.verify.difference import TensorDifference, largest_difference

LAWS = {"float64": 1e-11, "float32": 1e-5}
"""Bounds of the law n workers = 1 worker, by dtype; in float32 after a few steps (docs/verify.md, "What decides")."""
TIMES = 8
"""How often the error of the uncut net a difference may be: rounding that decides between near ties errs more."""
CANCELLATION = 16
"""How many times larger than a sum the magnitudes of its addends may be: the bound knows only the sum."""

ACTIVATION, GRADIENT, METRIC = "activation", "gradient", "metric"
PARAMETER_GRADIENT, PARAMETER, AVERAGE = "parameter gradient", "parameter", "average"

CLASSES = BITWISE, REORDERED, ROUNDING, SEMANTIC = "bitwise", "reordered sum", "rounding", "semantic"
"""From the best to the worst."""


@dataclass(frozen=True)
class TensorComparison:
    """How far one tensor of the cut net is from the uncut one's: ``name`` is an output, a parameter or a metric.

    ``terms`` is the n of its bound n·eps (``netpart.verify.terms``), ``dtype`` the type of its numbers, ``error`` the
    relative difference of the uncut net's to float64.
    """

    phase: str
    step: int
    kind: str
    layer: str
    name: str
    difference: TensorDifference
    terms: int
    dtype: str
    error: float = 0.0

    @property
    def law(self) -> float:
        """The relative difference beyond which the cut is wrong."""
        return max(LAWS[self.dtype], TIMES * self.error)

    @property
    def bound(self) -> float:
        """The largest relative difference that is explained: by sums in another order, as far as the law of the type
        allows, or by rounding like that of the uncut net."""
        return max(self.reordered, TIMES * self.error)

    @property
    def reordered(self) -> float:
        """The largest relative difference that sums in another order explain."""
        return min(CANCELLATION * self.terms * float(np.finfo(self.dtype).eps), LAWS[self.dtype])

    @property
    def holds(self) -> bool:
        """True if the difference is within the law."""
        return self.difference.relative <= self.law

    @property
    def category(self) -> str:
        """One of CLASSES."""
        if self.difference == TensorDifference():
            return BITWISE
        if self.difference.relative <= self.reordered:
            return REORDERED
        return ROUNDING if self.difference.relative <= self.bound else SEMANTIC

    def to_json(self) -> dict[str, Any]:
        """The comparison as values of JSON; a figure that is no number is None."""
        row = {**asdict(self), **_finite_figures(self.difference)}
        del row["difference"]
        return {**row, "bound": self.bound, "class": self.category, "holds": self.holds}

    def __str__(self) -> str:
        what = self.kind if self.name == self.layer else f"{self.kind} {self.name}"
        sizes = f"error {self.difference.relative:.1e}, bound {self.bound:.1e}"
        return f"{self.layer}: {what} in {self.phase} step {self.step}: {sizes}"


@dataclass(frozen=True)
class ComparisonSummary:
    """Several comparisons in one: the largest differences, and the worst of them by class and relative difference."""

    difference: TensorDifference
    worst: TensorComparison

    def to_json(self) -> dict[str, Any]:
        """The summary as values of JSON."""
        worst = {"class": self.worst.category, "terms": self.worst.terms, "bound": self.worst.bound}
        return {**worst, **_finite_figures(self.difference)}


@dataclass(frozen=True)
class VerifyReport:
    """All comparisons of a job, in the order in which its steps compute them."""

    job: str
    workers: int
    steps: int
    dtype: str
    micro_batches: int
    comparisons: tuple[TensorComparison, ...]
    kernels: str

    @property
    def law(self) -> float:
        """The relative difference that the law allows."""
        return LAWS[self.dtype]

    @property
    def holds(self) -> bool:
        """True if the cut net computes what the uncut one computes: every tensor is within the law."""
        return all(c.holds for c in self.comparisons)

    @cached_property
    def first(self) -> TensorComparison | None:
        """The first comparison that leaves its bound."""
        return next((c for c in self.comparisons if c.category == SEMANTIC), None)

    @cached_property
    def whole(self) -> ComparisonSummary:
        """All comparisons in one."""
        return _summarise_comparisons(self.comparisons)

    @cached_property
    def layers(self) -> dict[str, ComparisonSummary]:
        """Per layer, in the order of computation, all that was compared of it."""
        found: dict[str, list[TensorComparison]] = {}
        for c in self.comparisons:
            found.setdefault(c.layer, []).append(c)
        return {layer: _summarise_comparisons(comparisons) for layer, comparisons in found.items()}

    @cached_property
    def kinds(self) -> dict[tuple[str, str], ComparisonSummary]:
        """Per layer and kind."""
        found: dict[tuple[str, str], list[TensorComparison]] = {}
        for c in self.comparisons:
            found.setdefault((c.layer, c.kind), []).append(c)
        return {key: _summarise_comparisons(comparisons) for key, comparisons in found.items()}

    def to_json(self) -> dict[str, Any]:
        """The report as values of JSON: its head, its layers kind by kind, every comparison."""
        head = {name: getattr(self, name) for name in ("job", "workers", "steps", "dtype", "micro_batches", "holds")}
        return {
            **head,
            "law": self.law,
            "class": self.whole.worst.category,
            "first": str(self.first) if self.first else None,
            "layers": [{"layer": layer, "kind": kind, **s.to_json()} for (layer, kind), s in self.kinds.items()],
            "comparisons": [c.to_json() for c in self.comparisons],
        }


def _summarise_comparisons(comparisons: Sequence[TensorComparison]) -> ComparisonSummary:
    """The summary of at least one comparison."""
    worst = max(comparisons, key=lambda c: (CLASSES.index(c.category), c.difference.relative))
    return ComparisonSummary(largest_difference([c.difference for c in comparisons]), worst)


def _finite_figures(difference: TensorDifference) -> dict[str, float | None]:
    """The figures of a difference; None for what is no number."""
    return {name: value if isfinite(value) else None for name, value in asdict(difference).items()}
