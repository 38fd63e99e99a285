from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.resize import interpolation_matrix, resize_images

SIZES = st.integers(1, 12)


@given(SIZES, SIZES)
def test_every_pixel_is_a_mean_of_at_most_two(source: int, target: int) -> None:
    matrix = interpolation_matrix(source, target)
    assert matrix.shape == (target, source)
    assert matrix.min() >= 0
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-6)
    assert (matrix > 0).sum(axis=1).max() <= 2
    np.testing.assert_allclose(matrix, matrix[::-1, ::-1], atol=1e-6)


@given(SIZES, SIZES)
def test_the_same_size_changes_nothing(height: int, width: int) -> None:
    image = np.random.default_rng(height * 13 + width).random((2, height, width), np.float32)
    np.testing.assert_array_equal(resize_images(image, height, width), image)


def test_doubling_mixes_neighbours_three_to_one() -> None:
    np.testing.assert_array_equal(resize_images(np.array([[0, 4]]), 1, 4), [[0, 1, 3, 4]])


def test_a_ramp_stays_a_ramp_inside() -> None:
    ramp = resize_images(np.arange(8.0)[None, :], 1, 28)[0]
    assert np.diff(ramp[2:-2]) == pytest.approx(8 / 28, rel=1e-4)
