"""Bfloat16 in arrays of uint16: rounding, and the verbs that take such arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.kernels.bfloat16 import ELEMENT, rounded, widened
from netpart.kernels.op import Op
from netpart.kernels.reference import Kernels

K = Kernels(np, "float32", "bfloat16")


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def play(op: Op) -> None:
    op.run(*(np.empty(shape, dtype) for shape, dtype in op.scratch))


def test_numbers_are_rounded_to_the_nearest_and_ties_to_even() -> None:
    below = np.arange(0x3F80, 0x4080, dtype=ELEMENT)
    low, high = widened(below).astype(np.float64), widened(below + np.uint16(1)).astype(np.float64)
    for share, right in ((0.0, below), (0.49, below), (0.5, below + (below & 1)), (0.51, below + 1)):
        assert np.array_equal(rounded((low + share * (high - low)).astype(np.float32)), right)


def test_what_is_no_finite_number_stays_so() -> None:
    found = widened(rounded(np.array([np.nan, np.inf, -np.inf, 3.4e38, -0.0], np.float32)))
    assert np.isnan(found[0])
    assert found[1:4].tolist() == [np.inf, -np.inf, np.inf]
    assert np.signbit(found[4])
    assert np.isnan(widened(rounded(np.array([-1], np.int32).view(np.float32))))[0]


def test_bfloat16_is_widened_and_rounded_again_to_itself() -> None:
    every = np.arange(1 << 16, dtype=np.uint32).astype(ELEMENT)
    numbers = every[~np.isnan(widened(every))]
    assert np.array_equal(rounded(widened(numbers)), numbers)


def test_copies_convert() -> None:
    x = numbers(5, 3, 4)
    narrow, back = np.empty(x.shape, ELEMENT), np.empty((3, 4, 5), np.float32).transpose(2, 0, 1)
    play(K.copy(narrow, x))
    play(K.copy(back, narrow))
    assert np.array_equal(back, widened(rounded(x)))
    assert np.abs(back - x).max() <= 2.0**-8 * np.abs(x).max()


def test_sums_are_in_float32_and_rounded_once() -> None:
    a, b = numbers(6, 7), 2.0**-6 * numbers(6, 7)[::-1]
    total = rounded(a)
    right = rounded(widened(rounded(a)) + b)
    play(K.add(total, b))
    assert np.array_equal(total, right)
    K.take(total, rounded(a), 2)(np.concatenate([np.zeros(2, ELEMENT), rounded(b).reshape(-1)]))
    assert np.array_equal(total, rounded(widened(rounded(a)) + widened(rounded(b))))
