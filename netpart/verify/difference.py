"""How far two tensors are apart: absolutely, relative to the norm, and in units of the last place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]

TINY = 1e-3
"""Norm below which a tensor counts as rounding: gradients that cancel, as those of a bias that moves all classes."""


@dataclass(frozen=True)
class TensorDifference:
    """The largest of |a - b|, ||a - b|| / max(||b||, TINY), the largest of |a - b| in ULPs of the larger of both.

    All are 0 where both are equal, and infinite if anything is missing or no number.
    """

    absolute: float = 0.0
    relative: float = 0.0
    ulp: float = 0.0


NOTHING_ALIKE = TensorDifference(inf, inf, inf)


def tensor_difference(found: Values | None, expected: Values, dtype: str) -> TensorDifference:
    """The difference of two tensors of numbers of type ``dtype``."""
    if found is None or found.shape != expected.shape:
        return NOTHING_ALIKE
    a = found.astype(np.float64)
    b = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinity less infinity: not a number, as it shall be
        apart = np.abs(a - b)
    if not isfinite(size := float(np.linalg.norm(apart)) / max(float(np.linalg.norm(b)), TINY)):
        return NOTHING_ALIKE
    place = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(dtype)).astype(np.float64)
    return TensorDifference(float(apart.max(initial=0)), size, float((apart / place).max(initial=0)))


def largest_difference(differences: Sequence[TensorDifference]) -> TensorDifference:
    """The largest of each figure of at least one difference."""
    absolute, relative, ulp = (max(figures) for figures in zip(*map(astuple, differences), strict=True))
    return TensorDifference(absolute, relative, ulp)
