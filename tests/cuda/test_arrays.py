from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.activation import Kind
from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, ORDERS, TOLERANCE, agree, fast, lying, near, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal, rubbish

SHAPES = st.lists(st.integers(0, 5), min_size=1, max_size=4)


@given(SHAPES, ORDERS, ORDERS, st.sampled_from(["uint8", "int16", "int32", "float32", "float64", "complex128"]))
def test_bits_are_moved_between_arrays_that_lie_in_any_order(shape: list[int], one: str, two: str, dtype: str) -> None:
    src = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    dst = lying(np.full(shape, 7, dtype), one)
    play(fast("float32").copy(dst, lying(src, two)))
    assert np.array_equal(dst.get(), src)
    play(fast("float32").zero(dst))
    assert not dst.get().any()


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize("length", [1, 4, 7, 16, 32])
def test_what_does_not_lie_at_a_multiple_of_wide_pieces_is_moved_too(start: int, length: int) -> None:
    whole, src = cupy().zeros((3, 40), "uint8"), np.arange(3 * length, dtype="uint8").reshape(3, length)
    play(fast("float32").copy(whole[:, start : start + length], cupy().asarray(src)))
    expected = np.zeros((3, 40), "uint8")
    expected[:, start : start + length] = src
    assert np.array_equal(whole.get(), expected)


def test_a_copy_of_another_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="expected arrays of one dtype, got float64 and int32"):
        fast("float64").copy(cupy().zeros(2), cupy().zeros(2, "int32"))


@given(SHAPES, ORDERS, DTYPES, st.sampled_from([None, 0, 3, 4]), st.booleans())
def test_a_message_is_taken_from_wherever_it_lies(
    shape: list[int], order: str, dtype: str, start: int | None, added: bool
) -> None:
    """Twice, from memory that begins at a multiple of 16 bytes and does not."""
    values, size = normal(1, *shape).astype(dtype), int(np.prod(shape))
    own = lying(values, order) if added else None
    dst = lying(rubbish(*shape).astype(dtype), order)
    take = fast(dtype).take(dst, own, start)
    for at in (0, 1):
        sent = np.arange(at, at + 9 + size).astype(dtype)
        piece = sent[at + (start or 0) :][:size].reshape(shape)
        message = cupy().asarray(sent)[at:]
        take(message if start is not None else message[:size].reshape(shape))
        assert np.array_equal(dst.get(), piece + values if added else piece)


def test_numbers_of_another_dtype_are_not_added() -> None:
    with pytest.raises(ValueError, match="expected float32 or float64 to add up, got int32"):
        fast("float32").take(cupy().zeros(2, "int32"), cupy().zeros(2, "int32"))


@given(SHAPES, ORDERS, DTYPES, st.integers(0, 17), st.sampled_from([None, "relu", "relu6", "sigmoid", "stanh"]))
def test_sums_in_the_order_of_the_list(
    shape: list[int], order: str, dtype: str, count: int, activation: Kind | None
) -> None:
    def both(kernels: Any, dst: Array, first: Array, *srcs: Array) -> Op:
        return chain_ops(
            kernels.total(dst, srcs, activation),
            kernels.total(first, [first, *srcs], activation),
            *(kernels.add(dst, src) for src in srcs[:1]),
        )

    agree(both, rubbish(*shape), *(normal(i, *shape) for i in range(count + 1)), dtype=dtype, order=order)


@given(SHAPES, ORDERS, DTYPES, st.integers(1, 5))
def test_a_mean_is_brought_in_with_the_same_bits(shape: list[int], order: str, dtype: str, count: int) -> None:
    arrays = [normal(i, *shape) for i in range(3)]
    agree(lambda k, *three: k.bring_in(*three, count), *arrays, dtype=dtype, order=order, tolerance=1e-300)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3,), (0, 2), (7, 5), (3, 2**13), (2**15 + 3,)])
def test_squares_are_added_up_in_float64(dtype: str, shape: tuple[int, ...]) -> None:
    src, dst = (normal(1, *shape) * 1e25).astype(dtype), cupy().asarray(np.array([0.5]))
    device = cupy().asarray(src)
    play(chain_ops(fast(dtype).add_squares(dst, device), fast(dtype).add_squares(dst, device[::2])))
    expected = 0.5 + sum(float((view.astype(np.float64) ** 2).sum()) for view in (src, src[::2]))
    np.testing.assert_allclose(dst.get()[0], expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 1023, 2500])
@pytest.mark.parametrize("starts", [(0, 0, 0), (0, 1, 0), (3, 2, 1), (4, 8, 4)])
def test_runs_may_begin_anywhere_and_have_any_length(dtype: str, size: int, starts: tuple[int, ...]) -> None:
    hosts = [normal(i, size + 8).astype(dtype) for i in range(3)]
    wholes = [cupy().asarray(host) for host in hosts]
    y, a, b = (whole[start : start + size] for whole, start in zip(wholes, starts, strict=True))
    first, second = (host[start : start + size] for host, start in zip(hosts[1:], starts[1:], strict=True))
    kernels = fast(dtype)
    for op, expected in (
        (kernels.total(y, [a, b]), first + second),
        (kernels.total(y, [y, a, b], "relu"), np.maximum(first + second + first + second, 0)),
        (kernels.multiply(y, [a, b]), first * second),
    ):
        play(op)
        near(wholes[0].get()[starts[0] :][:size], expected, TOLERANCE[dtype])
    assert np.array_equal(
        np.delete(wholes[0].get(), range(starts[0], starts[0] + size)),
        np.delete(hosts[0], range(starts[0], starts[0] + size)),
    )
