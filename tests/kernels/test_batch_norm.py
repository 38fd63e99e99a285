"""Moments about a centre: parts add up, and a large mean costs no digits once the centre follows it."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.arguments import BatchNormaliseArguments
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, close, normal, peak_bytes, play, rubbish


def test_moments_of_parts_add_up_to_mean_and_variance() -> None:
    x = normal(1, 6, 3, 4)
    s = normal(2, 3)
    mean = rubbish(3)
    variance = rubbish(3)
    parts = [rubbish(1, 3, 2) for _ in range(3)]
    for part, rows in zip(parts, (x[:2], x[2:6], x[6:]), strict=True):
        play(K.moments(rows, s, part, 24))
    play(K.statistics(sum(parts), s, mean, variance))
    close(mean, x.mean(axis=(0, 2)))
    close(variance, x.var(axis=(0, 2)))


def test_a_gradient_is_added_to_what_is_there() -> None:
    x = normal(1, 6, 3, 4)
    s = normal(2, 3)
    dm = normal(3, 1, 3, 2)
    dx = rubbish(6, 3, 4)
    there = normal(4, 6, 3, 4)
    both = there.copy()
    play(K.moments_gradient(x, s, dm, dx, 24))
    play(K.moments_gradient(x, s, dm, both, 24, add=True))
    close(both, there + dx)


def test_a_large_mean_costs_no_digits() -> None:
    kernels, x = Kernels(np, "float32"), (normal(3, 64, 1, 16) + 1000).astype("float32")
    m, (s, mean, variance) = np.empty((1, 1, 2), "float32"), np.full((3, 1), 1000, "float32")
    play(kernels.moments(x, s, m, x.size))
    play(kernels.statistics(m, s, mean, variance))
    assert variance[0] == pytest.approx(x.astype("float64").var(), rel=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_allocates_nothing(dtype: str) -> None:
    kernels = Kernels(np, dtype)
    x = normal(1, 20, 5, 60).astype(dtype)
    s = normal(2, 5).astype(dtype)
    m, like = np.zeros((1, 5, 2), dtype), np.empty_like(x)
    ops = [
        kernels.moments(x, s, m, 1200),
        kernels.moments_gradient(x, s, m, like, 1200),
        kernels.moments_gradient(x, s, m, like, 1200, add=True),
        kernels.moments_share(m, 0.5, s.copy(), s.copy()),
        kernels.statistics(m, s, s.copy(), s.copy()),
        kernels.batch_normalise(BatchNormaliseArguments(x, s, abs(s), s, s, like, s.copy(), 0.1)),
        kernels.batch_normalise_gradient(s, s, x, like, add=True),
        kernels.batch_normalise_moments(x, m, s, s, s, s, x, m.copy()),
    ]
    assert max(map(peak_bytes, ops)) < 4096
