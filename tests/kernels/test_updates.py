from __future__ import annotations

import numpy as np

from tests.kernels.harness import K, play


def test_mean_and_variance_move_towards_the_batch() -> None:
    x = np.array([1.0, 4.0, 4.0])
    mean = np.array([2.0])
    variance = np.array([10.0])
    first, second = np.array([(x - 2).mean()]), np.array([((x - 2) ** 2).mean()])
    play(K.follow_variance(variance, second, first, 0.75, 3))
    play(K.follow_mean(mean, first, 0.75))
    assert np.isclose(mean[0], 0.75 * 2 + 0.25 * x.mean())
    assert np.isclose(variance[0], 0.75 * 10 + 0.25 * x.var(ddof=1))


def test_newest_values_may_be_others_than_those_about_which_the_moments_are() -> None:
    """In a delayed pipeline the mean of a mini-batch is known less that of the version which its forward pass read."""
    x = np.array([1.0, 4.0, 4.0])
    mean = np.array([2.0])
    variance = np.array([10.0])
    before = np.array([5.0, 3.0])
    first, second = np.array([(x - 2).mean()]), np.array([((x - 2) ** 2).mean()])
    play(K.follow_variance(variance, second, first, 0.75, 3, before[1:]))
    play(K.follow_mean(mean, first, 0.75, before[:1]))
    assert np.isclose(mean[0], 0.75 * 5 + 0.25 * x.mean())
    assert np.isclose(variance[0], 0.75 * 3 + 0.25 * x.var(ddof=1))
    assert before.tolist() == [5, 3]


def test_the_variance_of_one_element_is_0() -> None:
    variance = np.array([4.0])
    play(K.follow_variance(variance, np.array([9.0]), np.array([3.0]), 0.5, 1))
    assert variance[0] == 2
