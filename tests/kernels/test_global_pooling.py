from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.pooling import Method
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish

METHODS: tuple[Method, ...] = "MAX", "AVG"


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 2), (1, 2, 3, 1, 2)])
@pytest.mark.parametrize("method", METHODS)
def test_value_and_gradient(method: Method, shape: tuple[int, ...]) -> None:
    x, axes = normal(1, *shape), tuple(range(2, len(shape)))
    area, arg = int(np.prod(shape[2:])), rubbish(shape[0] * shape[1], dtype="int64")
    y, dy = rubbish(*shape[:2], *(1 for _ in axes)), normal(2, *shape[:2], *(1 for _ in axes))
    dx = rubbish(*shape)
    op = K.global_pooling(x, y, arg, method, area)
    play(op)
    close(y, (np.max if method == "MAX" else np.mean)(x, axis=axes, keepdims=True))
    play(K.global_pooling_gradient(dy, dx, arg, method, area))

    def total() -> float:
        play(op)
        return float((y * dy).sum())

    close(dx, derivative(total, x), 1e-8)


def test_the_first_of_equal_maxima_gets_the_gradient() -> None:
    arg, dx = rubbish(1, dtype="int64"), rubbish(1, 1, 3)
    play(K.global_pooling(np.array([[[1.0, 2.0, 2.0]]]), rubbish(1, 1, 1), arg, "MAX", 3))
    play(K.global_pooling_gradient(np.full((1, 1, 1), 5.0), dx, arg, "MAX", 3))
    assert dx.tolist() == [[[0, 5, 0]]]


def test_the_gradient_of_a_maximum_needs_its_place() -> None:
    with pytest.raises(ValueError, match="expected the arg array"):
        K.global_pooling_gradient(np.ones((1, 1, 1)), np.ones((1, 1, 3)), None, "MAX", 3)


@pytest.mark.parametrize("method", METHODS)
def test_allocates_nothing(method: Method) -> None:
    x = normal(1, 20, 30, 40)
    y = normal(2, 20, 30, 1)
    arg = np.zeros(600, "int64")
    assert peak_bytes(K.global_pooling(x, y, arg, method, 40)) < 4096
    assert peak_bytes(K.global_pooling_gradient(y, np.empty_like(x), arg, method, 40)) < 4096
