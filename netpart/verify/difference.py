"""Difference of two tensors: absolute, relative to the norm, and in units in the last place (ULP)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from netpart.spec import BFLOAT16

Values = np.ndarray[Any, Any]

TINY = 1e-3
"""Norm below which a tensor counts as rounding only. Example: the gradient of a bias that moves all classes cancels."""
NARROWED = 2.0**16
"""The spacing of bfloat16 numbers, in that of float32 ones."""


@dataclass(frozen=True)
class TensorDifference:
    """The largest |a - b|; ||a - b|| / max(||b||, TINY); the largest |a - b| in ULPs of the larger of both.

    All are 0 if the tensors are equal, and infinite if an element is missing or not a number.
    """

    absolute: float = 0.0
    relative: float = 0.0
    ulp: float = 0.0


NOTHING_ALIKE = TensorDifference(inf, inf, inf)


def tensor_difference(found: Values | None, expected: Values, dtype: str) -> TensorDifference:
    """Return the difference of two tensors of ``dtype``, computed in float64."""
    if found is None or found.shape != expected.shape:
        return NOTHING_ALIKE
    a = found.astype(np.float64)
    b = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, which counts as a difference
        apart = np.abs(a - b)
    if not isfinite(size := float(np.linalg.norm(apart)) / max(float(np.linalg.norm(b)), TINY)):
        return NOTHING_ALIKE
    # The spacing in ``dtype``, not in float64: one ULP is the resolution of the type that both were computed in.
    largest = np.maximum(np.abs(a), np.abs(b))
    place = np.spacing(largest.astype(np.float32 if dtype == BFLOAT16 else dtype)).astype(np.float64)
    place *= NARROWED if dtype == BFLOAT16 else 1
    return TensorDifference(float(apart.max(initial=0)), size, float((apart / place).max(initial=0)))


def type_spacing(dtype: str) -> float:
    """The distance between 1 and the next number of ``dtype``."""
    return float(np.finfo(np.float32).eps) * NARROWED if dtype == BFLOAT16 else float(np.finfo(dtype).eps)


def largest_difference(differences: Sequence[TensorDifference]) -> TensorDifference:
    """The maximum of each figure over ``differences``, of which there is at least one."""
    absolute, relative, ulp = (max(figures) for figures in zip(*map(astuple, differences), strict=True))
    return TensorDifference(absolute, relative, ulp)
