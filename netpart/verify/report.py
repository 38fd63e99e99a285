"""VerifyReport: the results of a comparison by tensor and by layer, and the first tensor that exceeds its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import Any

from netpart.spec import BFLOAT16
from netpart.verify.difference import TensorDifference, largest_difference, type_spacing

LAWS = {"float64": 1e-11, "float32": 1e-5, BFLOAT16: 2.0**-5}
"""Largest relative difference under the law n workers = 1 worker, by dtype; for float32 after a few steps
(docs/verify.md, "What decides"); for bfloat16 8 roundings, of 2⁻⁸ each."""
TIMES = 8
"""Largest ratio of a difference to the error of the uncut net. Above 1, as rounding may also decide a near tie."""
CANCELLATION = 16
"""Assumed ratio of the sum of the addends' magnitudes to the magnitude of their sum, which alone is known."""

ACTIVATION, GRADIENT, METRIC = "activation", "gradient", "metric"
PARAMETER_GRADIENT, PARAMETER, AVERAGE = "parameter gradient", "parameter", "average"

CLASSES = BITWISE, REORDERED, ROUNDING, SEMANTIC = "bitwise", "reordered sum", "rounding", "semantic"
"""From the best to the worst."""


@dataclass(frozen=True)
class TensorComparison:
    """The difference of one tensor between the cut and the uncut net. ``name`` is an output, a parameter or a metric.

    ``terms`` is the n of its bound n·eps (``netpart.verify.terms``), ``dtype`` the type of its numbers, ``error`` the
    relative difference between the uncut net and the same net in float64.
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
        """The relative difference above which the cut is wrong."""
        return max(LAWS[self.dtype], TIMES * self.error)

    @property
    def bound(self) -> float:
        """The largest relative difference with an explanation: sums in another order, within the law of the type, or
        rounding like that of the uncut net."""
        return max(self.reordered, TIMES * self.error)

    @property
    def reordered(self) -> float:
        """The largest relative difference that sums in another order can cause."""
        return min(CANCELLATION * self.terms * type_spacing(self.dtype), LAWS[self.dtype])

    @property
    def holds(self) -> bool:
        """True if the difference is within the law."""
        return self.difference.relative <= self.law

    @property
    def category(self) -> str:
        """The class of the difference, one of CLASSES."""
        if self.difference == TensorDifference():
            return BITWISE
        if self.difference.relative <= self.reordered:
            return REORDERED
        return ROUNDING if self.difference.relative <= self.bound else SEMANTIC

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON values; a figure that is not finite is None."""
        row = {**asdict(self), **_finite_figures(self.difference)}
        del row["difference"]
        return {**row, "bound": self.bound, "class": self.category, "holds": self.holds}

    def __str__(self) -> str:
        what = self.kind if self.name == self.layer else f"{self.kind} {self.name}"
        sizes = f"error {self.difference.relative:.1e}, bound {self.bound:.1e}"
        return f"{self.layer}: {what} in {self.phase} step {self.step}: {sizes}"


@dataclass(frozen=True)
class ComparisonSummary:
    """Summary of several comparisons: the largest differences, and the worst one by class and relative difference."""

    difference: TensorDifference
    worst: TensorComparison

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
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
        """The largest relative difference that the law allows."""
        return LAWS[self.dtype]

    @property
    def holds(self) -> bool:
        """True if every tensor is within the law: the cut net computes the same as the uncut net."""
        return all(c.holds for c in self.comparisons)

    @cached_property
    def first(self) -> TensorComparison | None:
        """The first comparison that exceeds its bound; None if all are within."""
        return next((c for c in self.comparisons if c.category == SEMANTIC), None)

    @cached_property
    def whole(self) -> ComparisonSummary:
        """The summary of all comparisons."""
        return _summarise_comparisons(self.comparisons)

    @cached_property
    def layers(self) -> dict[str, ComparisonSummary]:
        """The summary of each layer, in the order of computation."""
        found: dict[str, list[TensorComparison]] = {}
        for c in self.comparisons:
            found.setdefault(c.layer, []).append(c)
        return {layer: _summarise_comparisons(comparisons) for layer, comparisons in found.items()}

    @cached_property
    def kinds(self) -> dict[tuple[str, str], ComparisonSummary]:
        """The summary of each (layer, kind), in the order of computation."""
        found: dict[tuple[str, str], list[TensorComparison]] = {}
        for c in self.comparisons:
            found.setdefault((c.layer, c.kind), []).append(c)
        return {key: _summarise_comparisons(comparisons) for key, comparisons in found.items()}

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values: its head, its layers by kind, every comparison."""
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
    """The figures of a difference by name; None for a figure that is not finite, as JSON has no such number."""
    return {name: value if isfinite(value) else None for name, value in asdict(difference).items()}
