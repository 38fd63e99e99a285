"""How far apart two tensors are, by three measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.verify.difference import NOTHING_ALIKE, TensorDifference, largest_difference, tensor_difference


@pytest.mark.parametrize(
    ("found", "expected", "relative"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([3.0, 4.0], [0.0, 0.0], 5e3),
        ([0.0, 5.5], [0.0, 5.0], 0.1),
        ([np.nan, 0.0], [0.0, 0.0], np.inf),
        ([0.0, 0.0], [np.nan, 0.0], np.inf),
        ([np.inf, 0.0], [np.inf, 0.0], np.inf),
        ([0.0], [0.0, 0.0], np.inf),
        (None, [0.0], np.inf),
    ],
)
def test_it_is_relative_and_never_hides_what_is_no_number(found: Any, expected: Any, relative: float) -> None:
    values = None if found is None else np.array(found)
    apart = tensor_difference(values, np.array(expected), "float64")
    assert apart.relative == pytest.approx(relative)
    assert (apart == NOTHING_ALIKE) == (relative == np.inf)


@pytest.mark.parametrize(("dtype", "eps"), [("float64", 2.0**-52), ("float32", 2.0**-23)])
def test_units_of_the_last_place_are_those_of_the_type(dtype: str, eps: float) -> None:
    expected = np.array([1.0, 1024.0, 0.0], dtype)
    apart = tensor_difference(expected + np.array([3 * eps, 1024 * eps, 0.0], dtype), expected, dtype)
    assert (apart.ulp, apart.absolute) == (3.0, 1024 * eps)


def test_numbers_of_no_size_count_their_distance_in_the_larger() -> None:
    assert tensor_difference(np.array([1e-17]), np.array([0.0]), "float64").ulp == pytest.approx(2.0**52, rel=1)
    assert tensor_difference(np.array([-1.0]), np.array([1.0]), "float64").ulp == 2.0**53


def test_tensors_without_elements_and_labels_are_compared_too() -> None:
    assert tensor_difference(np.zeros((0, 3)), np.zeros((0, 3)), "float64") == TensorDifference()
    assert tensor_difference(np.array([1, 2]), np.array([1, 4]), "float64").absolute == 2


def test_the_largest_of_each() -> None:
    assert largest_difference([TensorDifference(1.0, 0.5, 3.0), TensorDifference(0.5, 2.0, 7.0)]) == TensorDifference(
        1.0, 2.0, 7.0
    )
