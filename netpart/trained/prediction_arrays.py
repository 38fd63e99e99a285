"""Values of predictions as arrays: probabilities, labels, or the values of a layer."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.spec import Shape
from netpart.trained.prediction_job import PredictionJob

Rows = NDArray[Any]


def class_probabilities(values: Rows, places: int) -> Rows:
    """The softmax of ``values`` (rows, *places, ...) over all axes after ``places`` axes of a row, in float64."""
    scores = values.reshape(*values.shape[: 1 + places], -1).astype(np.float64)
    # The shift by the maximum avoids overflow and cancels in the quotient.
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def class_labels(values: Rows, plan: PredictionJob) -> Rows:
    """The most probable class (rows, *space), int32; the lowest one of several."""
    assert plan.places is not None
    scores = values.reshape(*values.shape[: 1 + plan.places], -1)
    return np.asarray(scores.argmax(axis=-1).astype(np.int32).reshape(len(values), *plan.space))


class ArrayForm(NamedTuple):
    """What an array of predictions has of each row: its shape, its dtype, and how it comes from values of the net."""

    shape: Shape
    dtype: np.dtype[Any]
    convert: Callable[[Rows], Rows]


def array_form(plan: PredictionJob, every: bool, dtype: np.dtype[Any]) -> ArrayForm:
    """Values of a layer, the probabilities of ``every`` class, or labels; numbers are of ``dtype``, labels int32."""
    places = plan.places
    if places is None:
        return ArrayForm(plan.shape, dtype, lambda rows: rows)
    if every:
        classes = prod(plan.shape[places:])
        shape = (*plan.space, classes)
        return ArrayForm(shape, dtype, lambda rows: class_probabilities(rows, places).astype(dtype).reshape(-1, *shape))
    return ArrayForm(plan.space, np.dtype(np.int32), lambda rows: class_labels(rows, plan))
