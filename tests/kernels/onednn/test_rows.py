"""oneDNN's verbs on rows of features agree with the reference."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels import reference
from netpart.kernels.activation import Kind
from netpart.kernels.arguments import AttentionArguments, NormaliseArguments, NormaliseGradientArguments
from netpart.kernels.choose import has_avx512
from netpart.kernels.onednn import turned_products
from netpart.kernels.onednn.calls import Calls, PrimitiveStream
from netpart.kernels.onednn.library import OneDnnRefused, load_onednn
from netpart.kernels.onednn.memory import DnnlMemory
from netpart.kernels.onednn.products import BLOCK_COLUMNS, PACKED_ROWS
from netpart.kernels.onednn.softmax import add_stepwise_gradient
from netpart.kernels.op import Array, Op, chain_ops
from tests.kernels.harness import play
from tests.kernels.onednn_kernels import REFERENCE, fast, near, needed

pytestmark = needed

EXTENT = st.integers(0, 9)
WHOLE = slice(None)


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def rubbish(*shapes: tuple[int, ...]) -> list[Array]:
    return [np.full(shape, np.nan, "float32") for shape in shapes]


def agree(bind: Callable[..., Op], *shapes: tuple[int, ...]) -> list[Array]:
    """Plays ``bind(kernels, *outputs)`` with both kernels; returns oneDNN's outputs."""
    wanted, got = rubbish(*shapes), rubbish(*shapes)
    # BLAS may read the NaN of what a product overwrites: it reports an invalid value, and the result is right.
    with np.errstate(invalid="ignore"):
        play(bind(REFERENCE, *wanted))
    play(bind(fast(), *got))
    for g, w in zip(got, wanted, strict=True):
        near(g, w)
    return got


@given(EXTENT, EXTENT, EXTENT, st.booleans(), st.booleans())
def test_inner_product(rows: int, features: int, outputs: int, transpose: bool, biased: bool) -> None:
    x = normal(1, rows, features, 2)
    dy = normal(2, rows, outputs)
    b = normal(3, outputs)
    shape = (features, 2, outputs) if transpose else (outputs, features, 2)
    w, bias = normal(4, *shape), b if biased else None
    agree(lambda k, y: k.inner_product(x, w, bias, y, transpose), dy.shape)
    agree(lambda k, dx: k.inner_product_data(dy, w, dx, transpose), x.shape)
    agree(lambda k, dw, db: k.inner_product_weights(x, dy, dw, db, transpose), shape, b.shape)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("features", [3 * BLOCK_COLUMNS, 2 * BLOCK_COLUMNS + 1, 4111])  # in blocks; 17 of 241; a prime
def test_a_wide_gradient_of_weights_has_the_sums_of_a_narrow_one(features: int, transpose: bool) -> None:
    x, dy = normal(1, 3, features), normal(2, 3, 5)
    if not has_avx512():  # a BLAS adds the columns at the end of a row in another way: sums of whole numbers are exact
        x, dy = np.rint(8 * x), np.rint(8 * dy)
    shape = (features, 5) if transpose else (5, features)
    agree(lambda k, dw: k.inner_product_weights(x, dy, dw, None, transpose), shape)
    kernels = fast()
    whole, part = rubbish(shape, (7, 5) if transpose else (5, 7))
    play(kernels.inner_product_weights(x, dy, whole, None, transpose))
    play(kernels.inner_product_weights(x[:, :7].copy(), dy, part, None, transpose))
    assert not kernels.refusals
    np.testing.assert_array_equal(whole[:7] if transpose else whole[:, :7], part)


@pytest.mark.parametrize("rows", [5, PACKED_ROWS + 1])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("kind", [None, "relu", "relu6", "sigmoid", "tanh", "stanh", "softplus"])
@pytest.mark.parametrize("add", [False, True])
def test_a_product_adds_and_activates_in_its_own_pass(add: bool, kind: Kind | None, transpose: bool, rows: int) -> None:
    x, before, b = normal(1, rows, 7), normal(2, rows, 6), normal(3, 6)
    w = normal(4, *((7, 6) if transpose else (6, 7)))

    def bind(kernels: Any, y: Array, dx: Array) -> Op:
        y[...], dx[...] = before, x
        forward = kernels.inner_product(x, w, b, y, transpose, kind, add)
        return chain_ops(forward, kernels.inner_product_data(before, w, dx, transpose, add))

    agree(bind, before.shape, x.shape)
    kernels = fast()
    kernels.inner_product(x, w, b, before.copy(), transpose, kind, add)
    assert {kind for kind, _ in kernels.implementations} <= {"matmul", "reorder"}
    assert not kernels.refusals


@pytest.mark.parametrize("rows", [1, 2, 5, 64, 65])
@pytest.mark.parametrize("kind", [None, "relu", "tanh"])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_a_product_of_few_rows_is_made_turned(add: bool, biased: bool, kind: Kind | None, rows: int) -> None:
    x, w, before = normal(1, rows, 7, 3), normal(4, 6, 7, 3), normal(2, rows, 6)
    b = normal(3, 6) if biased else None

    def bind(kernels: Any, y: Array) -> Op:
        y[...] = before
        op: Op = kernels.inner_product(x, w, b, y, False, kind, add)
        return op

    with patch.object(turned_products, "LEAST_WEIGHTS", w.size):
        agree(bind, before.shape)
        kernels = fast()
        bind(kernels, before.copy())
    assert ("reorder" in {kind for kind, _ in kernels.implementations}) == (2 <= rows <= 64 and has_brgemm())
    assert not kernels.refusals


def has_brgemm() -> bool:
    """True if oneDNN has products of its own for float32, and not those of a BLAS alone."""
    return load_onednn().has_avx512


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize(("features", "outputs"), [(1, 5), (7, 1), (7, 5)])
def test_products_that_cannot_be_turned_are_made_as_they_are(features: int, outputs: int, transpose: bool) -> None:
    x, b = normal(1, 4, features), normal(3, outputs)
    w = normal(4, *((features, outputs) if transpose else (outputs, features)))
    with patch.object(turned_products, "LEAST_WEIGHTS", 1):
        agree(lambda k, y: k.inner_product(x, w, b, y, transpose), (4, outputs))
        # With gaps in memory between its rows.
        agree(lambda k, y: k.inner_product(x, w, b, y[:, :outputs], transpose), (4, outputs + 2))


def test_a_refused_part_leaves_the_product_as_it_is() -> None:
    x, w, b = normal(1, 4, 7), normal(2, 5, 7), normal(3, 5)

    def refuse(*_: object) -> None:
        raise OneDnnRefused("no reorder")

    with (
        patch.object(turned_products, "LEAST_WEIGHTS", 1),
        patch.object(turned_products._TurnedProduct, "__init__", refuse),
    ):
        agree(lambda k, y: k.inner_product(x, w, b, y, False), (4, 5))
        kernels = fast()
        kernels.inner_product(x, w, b, normal(4, 4, 5), False)
    assert [kind for kind, _ in kernels.implementations] == ["matmul"]


@given(st.lists(EXTENT, min_size=0, max_size=2), EXTENT, EXTENT, EXTENT, st.booleans(), st.booleans())
def test_matmul(lead: list[int], rows: int, inner: int, columns: int, ta: bool, tb: bool) -> None:
    a = normal(1, *lead, *((inner, rows) if ta else (rows, inner)))
    b = normal(2, *lead, *((columns, inner) if tb else (inner, columns)))
    agree(lambda k, y: k.matmul(a, b, y, ta, tb), (*lead, rows, columns))


@given(EXTENT, st.integers(1, 3), EXTENT)
def test_softmax(rows: int, groups: int, features: int) -> None:
    x, dy = normal(1, rows, groups, features), normal(2, rows, groups, features)
    (y,) = agree(lambda k, y: k.softmax(x, y, groups), x.shape)
    agree(lambda k, dx: k.softmax_gradient(y, dy, dx, groups), x.shape)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 300), st.sampled_from(["y", "dy", "none"]))
def test_the_gradient_of_softmax_in_steps(lead: list[int], features: int, onto: str) -> None:
    y, dy = np.abs(normal(1, *lead, features)), normal(2, *lead, features)
    wanted = y * (dy - (y * dy).sum(-1, keepdims=True))
    dx = {"y": y, "dy": dy}.get(onto, np.empty_like(y))
    calls = Calls(PrimitiveStream())
    add_stepwise_gradient(calls, *(DnnlMemory.of(array) for array in (y, dy, dx)))
    play(calls.op())
    near(dx, wanted)


@given(st.integers(1, 150), st.integers(1, 150), st.sampled_from([None, 0, 1, 70]), st.integers(1, 5))
def test_attention(queries: int, keys: int, first: int | None, width: int) -> None:
    q = normal(1, 2, 3, queries, 4)
    k = normal(2, 2, 3, keys, 4)
    v = normal(3, 2, 3, keys, width)
    dy, p = normal(4, 2, 3, queries, width), (2, 3, queries, keys)

    def both(kernels: Any, y: Array, dq: Array, dk: Array, dv: Array) -> Op:
        (weights,) = rubbish(p)
        play(kernels.attention(AttentionArguments(q, k, v, y, weights, 0.3, first)))
        return kernels.attention_gradient(AttentionArguments(q, k, v, y, weights, 0.3, first), dy, dq, dk, dv)  # type: ignore[no-any-return]

    agree(both, dy.shape, q.shape, k.shape, v.shape)


@given(
    st.integers(1, 150), st.integers(1, 150), st.sampled_from([None, 0, 1, 70]), st.sampled_from(["int32", "float32"])
)
def test_masked_attention(queries: int, keys: int, first: int | None, kind: str) -> None:
    q, k, v = (normal(i, 3, 2, n, 4) for i, n in enumerate((queries, keys, keys)))
    dy, p = normal(4, *q.shape), (3, 2, queries, keys)
    mask = np.random.default_rng(5).integers(1, 3, (3, keys)).astype(kind)
    mask[0, : keys // 2 + 1], mask[2] = 2, 2  # padding at the front, and nothing else

    def both(kernels: Any, y: Array, dq: Array, dk: Array, dv: Array) -> Op:
        (weights,) = rubbish(p)
        a = AttentionArguments(q, k, v, y, weights, 0.3, first, mask=mask, pad=2)
        play(kernels.attention(a))
        return kernels.attention_gradient(a, dy, dq, dk, dv)  # type: ignore[no-any-return]

    made = agree(both, dy.shape, q.shape, k.shape, v.shape)
    assert not any(x[2].any() for x in made)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2)])
def test_a_gradient_that_is_not_wanted_is_left_out(wanted: tuple[int, ...]) -> None:
    q, k, v, dy = (normal(i, 2, 100, 4) for i in range(4))
    weights, found = np.abs(normal(5, 2, 100, 100)), []
    for leave in ((), tuple(i for i in range(3) if i not in wanted)):
        dq, dk, dv = gradients = [None if i in leave else g for i, g in enumerate(rubbish(*[q.shape] * 3))]
        play(fast().attention_gradient(AttentionArguments(q, k, v, dy, weights.copy(), 0.5, 0), dy, dq, dk, dv))
        found.append(gradients)
    assert all(b is None or np.array_equal(a, b) for a, b in zip(*found, strict=True))


@given(EXTENT, st.integers(1, 9), st.booleans(), st.booleans(), st.booleans())
def test_layer_norm(rows: int, features: int, scaled: bool, shifted: bool, centred: bool) -> None:
    x = normal(1, rows, 2, features)
    dy = normal(2, rows, 2, features)
    own = (WHOLE,) * 3
    w, b = (normal(i, 1, 1, features) if there else None for i, there in ((3, scaled), (4, shifted)))
    moments = rows * 2, 1
    _, unit, rstd = agree(
        lambda k, y, unit, rstd: k.normalise(NormaliseArguments(x, w, b, y, unit, rstd, rows * 2, own, 0.01, centred)),
        *(x.shape, x.shape, moments),
    )
    agree(lambda k, dx: k.normalise_gradient(unit, rstd, w, dy, dx, own, centred), x.shape)


@given(EXTENT, st.integers(1, 9), st.sets(st.sampled_from("xwb"), min_size=1), st.booleans(), st.booleans())
def test_all_gradients_of_layer_norm(rows: int, features: int, wanted: set[str], centred: bool, add: bool) -> None:
    unit, dy, before = (normal(i, rows, 2, features) for i in range(3))
    rstd, w = np.abs(normal(3, rows * 2, 1)), normal(4, 1, 1, features)

    def bind(kernels: reference.Kernels, *outputs: Array) -> Op:
        for output, start in zip(outputs, (before, 0, 0), strict=True):
            output[...] = start
        dx, dw, db = (array if name in wanted else None for name, array in zip("xwb", outputs, strict=True))
        return kernels.normalise_backward(
            NormaliseGradientArguments(unit, rstd, w, dy, dx, dw, db, (WHOLE,) * 3, centred, add)
        )

    agree(bind, unit.shape, w.shape, w.shape)


@pytest.mark.parametrize("first", [None, 0])
def test_attention_of_heads_that_lie_in_rows(first: int | None) -> None:
    """Queries (batch, heads, rows, width) in the memory of (batch, rows, heads, width)."""
    q, k, v, dy = (normal(i, 2, 100, 3, 4).transpose(0, 2, 1, 3) for i in range(4))

    def bind(kernels: Any, *outputs: Array) -> Op:
        y, dq, dk, dv = (each.transpose(0, 2, 1, 3) for each in outputs)
        p = np.full((2, 100, 3, 100), np.nan, "float32").transpose(0, 2, 1, 3)
        a = AttentionArguments(q, k, v, y, p, 0.5, first)
        return chain_ops(kernels.attention(a), kernels.attention_gradient(a, dy, dq, dk, dv))

    agree(bind, *[(2, 100, 3, 4)] * 4)
    kernels = fast()
    bind(kernels, *rubbish(*[(2, 100, 3, 4)] * 4))
    assert not kernels.refusals


@pytest.mark.parametrize("width", [2, 5])
@pytest.mark.parametrize("own", [(WHOLE, WHOLE, WHOLE), (WHOLE, slice(1, 4), slice(0, 2))])
def test_group_norm(own: tuple[slice, ...], width: int) -> None:
    """With a width of 2, a block of two channels has as many elements as there are channels."""
    x = normal(1, 3, 4, width)
    dy = normal(2, *x[own].shape)
    w = normal(3, 1, x[own].shape[1], 1)
    b = normal(4, 1, x[own].shape[1], 1)
    _, unit, rstd = agree(
        lambda k, y, unit, rstd: k.normalise(NormaliseArguments(x, w, b, y, unit, rstd, 6, own, 0.01, True)),
        dy.shape,
        x.shape,
        (6, 1),
    )
    agree(lambda k, dx: k.normalise_gradient(unit, rstd, w, dy, dx, own, True), x.shape)


def test_none_of_them_is_refused() -> None:
    kernels = fast()
    x = normal(1, 2, 100, 8)
    w = normal(2, 8, 8)
    p = normal(3, 2, 100, 100)
    unit, rstd = rubbish(x.shape, (200, 1))
    rows = x.reshape(200, 8)
    kernels.inner_product(rows, w, None, unit.reshape(200, 8), False)
    kernels.inner_product_data(rows, w, unit.reshape(200, 8), False)
    kernels.inner_product_weights(rows, rows, w, None, False)
    kernels.matmul(x, w[None].repeat(2, 0), x)
    kernels.softmax(x, x, 100)
    kernels.softmax_gradient(x, x, x, 100)
    kernels.attention(AttentionArguments(x, x, x, x, p, 0.3, 0))
    kernels.attention_gradient(AttentionArguments(x, x, x, x, p, 0.3, 0), x, x, x, x)
    masked = AttentionArguments(x, x, x, x, p, 0.3, 0, mask=np.ones((2, 100), "int32"))
    kernels.attention(masked)
    kernels.attention_gradient(masked, x, x, x, x)
    kernels.normalise(NormaliseArguments(x, None, None, x, unit, rstd, 200, (WHOLE,) * 3, 0.01, True))
    kernels.normalise_gradient(unit, rstd, None, x, x, (WHOLE,) * 3, True)
    affine = np.ones((1, 1, 8), "float32")
    kernels.normalise_backward(
        NormaliseGradientArguments(unit, rstd, affine, x, x, affine, affine, (WHOLE,) * 3, True, add=True)
    )
    assert not kernels.refusals


@pytest.mark.parametrize("isa", ["SSE41", "AVX2", "AVX512_CORE"])
def test_older_processors_refuse_none_of_them(isa: str) -> None:
    """oneDNN reads the variable once, so each takes a process of its own; newer than this one, it changes nothing."""
    code = f"from {__name__} import test_none_of_them_is_refused as test; test()"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "ONEDNN_MAX_CPU_ISA": isa}, check=True)
