from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 3), st.integers(1, 2))
def test_value_and_gradient(batch: int, groups: int, classes: int, space: int) -> None:
    shape = (batch, groups * classes, space)
    x = normal(1, *shape)
    dy = normal(2, *shape)
    y = rubbish(*shape)
    dx = rubbish(*shape)
    play(K.softmax(x, y, groups))
    play(K.softmax_gradient(y, dy, dx, groups))
    e = np.exp(x).reshape(batch, groups, -1)
    close(y, (e / e.sum(axis=2, keepdims=True)).reshape(shape))
    z = rubbish(*shape)
    op = K.softmax(x, z, groups)

    def objective() -> float:
        play(op)
        return float((z * dy).sum())

    close(dx, derivative(objective, x), 1e-8)


def test_large_scores_do_not_overflow() -> None:
    y = rubbish(1, 3)
    with np.errstate(all="raise", under="ignore"):
        play(K.softmax(np.array([[1e4, 1e4, -1e4]]), y))
    assert y.tolist() == [[0.5, 0.5, 0.0]]


def test_features_that_the_groups_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="divisible by 2 groups, got 3"):
        K.softmax(np.zeros((1, 3)), np.zeros((1, 3)), 2)


def test_allocates_nothing() -> None:
    x, y = normal(1, 40, 100), normal(2, 40, 100)
    assert peak_bytes(K.softmax(x, y, 5)) < 4096
    assert peak_bytes(K.softmax_gradient(y, x, np.empty_like(x), 5)) < 4096
