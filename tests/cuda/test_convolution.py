from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.activation import Kind
from netpart.kernels.cuda import dnn, lowered, narrowing
from netpart.kernels.cuda.kernels import Kernels as Fast
from netpart.kernels.cuda.problem import DATA, FORWARD, ConvolutionProblem, CudnnRefused
from netpart.kernels.op import Array, Op, Window
from netpart.kernels.reference import Kernels
from tests.cuda.agreement import DTYPES, ORDERS, agree, fast, lying, near, play
from tests.cuda.module import ON_GPU, cupy, emulated
from tests.kernels.harness import normal, rubbish
from tests.kernels.onednn.test_convolution import Case, cases

ACTIVATIONS: list[Kind | None] = [None, "relu", "tanh"]
FLOAT32 = 2e-4
ENGINES = pytest.mark.skipif(ON_GPU, reason="the engines of a GPU are its own")


def cudnn() -> Any:
    """The emulated frontend."""
    return emulated("cudnn")


def three_verbs_agree(case: Case, order: str, dtype: str, activation: Kind | None) -> None:
    x, w, b, dy, window, groups = case
    tolerance = FLOAT32 if dtype == "float32" else 0

    def forward(kernels: Kernels, x: Array, w: Array, b: Array | None, y: Array) -> Op:
        return kernels.convolution(x, flat(kernels, w), b, y, window, groups, activation)

    def data(kernels: Kernels, dy: Array, w: Array, dx: Array) -> Op:
        return kernels.convolution_data(dy, flat(kernels, w), dx, window, groups)

    agree(forward, x, w, b, rubbish(*dy.shape), dtype=dtype, order=order, tolerance=tolerance)
    agree(data, dy, w, rubbish(*x.shape), dtype=dtype, order=order, tolerance=tolerance)
    weights_agree(case, order, dtype, tolerance)


def flat(kernels: Kernels, w: Array) -> Array:
    """Parameters are one run of memory: with the channels last or as written."""
    last = w.transpose(0, *range(2, w.ndim), 1).flags.c_contiguous
    return w if kernels.xp is np or last else kernels.xp.asarray(np.ascontiguousarray(w.get()))


def weights_agree(case: Case, order: str, dtype: str, tolerance: float) -> None:
    x, w, b, dy, window, groups = case
    kernels = fast(dtype)
    wanted = [rubbish(*w.shape), None if b is None else rubbish(*b.shape)]
    found = [None if a is None else lying(a.astype(dtype), "last" if order == "last" else "plain") for a in wanted]
    op = Kernels(np, "float64").convolution_weights(x, dy, wanted[0], wanted[1], window, groups)
    op.run(*[np.zeros(shape, kind) for shape, kind in op.scratch])
    source, above = (lying(a.astype(dtype), order) for a in (x, dy))
    play(kernels.convolution_weights(source, above, found[0], found[1], window, groups))
    for got, expected in zip(found, wanted, strict=True):
        if got is not None:
            near(got.get(), expected, tolerance or 1e-12)


@settings(max_examples=60, deadline=None)
@given(cases(), ORDERS, DTYPES, st.sampled_from(ACTIVATIONS))
def test_agrees_with_the_reference(case: Case, order: str, dtype: str, activation: Kind | None) -> None:
    three_verbs_agree(case, order, dtype, activation)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("kernel", "pads"), [((2, 1), ((0, 1), (0, 0))), ((1, 1), ((0, 0), (1, 0))), ((1, 3), ((2, 2), (4, 4)))]
)
def test_padding_that_engines_of_cudnn_get_wrong(
    kernel: tuple[int, int], pads: tuple[tuple[int, int], ...], dtype: str
) -> None:
    """Padding on one side alone, or by more than a window: seen in weight gradients of cuDNN 9.19 on an H100."""
    outer = [8 + low + high - k + 1 for k, (low, high) in zip(kernel, pads, strict=True)]
    case = normal(1, 2, 3, 8, 8), normal(2, 4, 3, *kernel), None, normal(4, 2, 4, *outer)
    three_verbs_agree((*case, Window(kernel, (1, 1), pads), 1), "last", dtype, None)


@settings(max_examples=60, deadline=None)
@given(cases(), ORDERS, DTYPES, st.sampled_from(ACTIVATIONS), st.sampled_from([1, 2000, 1 << 28]))
def test_agrees_without_cudnn_whatever_the_chunks(
    case: Case, order: str, dtype: str, activation: Kind | None, limit: int
) -> None:
    with patch.object(dnn, "missing_cudnn", lambda: "no cuDNN"), patch.object(lowered, "LIMIT", limit):
        three_verbs_agree(case, order, dtype, activation)


def example(channels: int = 4, filters: int = 8) -> tuple[Array, Array, Array, Array, Window]:
    """x, w, b and dy of a window with padding on all sides."""
    x = normal(1, 2, channels, 6, 6)
    w = normal(2, filters, channels, 3, 3)
    b = normal(3, filters)
    return x, w, b, normal(4, 2, filters, 6, 6), Window((3, 3), (1, 1), ((1, 1), (1, 1)))


def test_bfloat16_is_tf32_where_copies_would_take_longer() -> None:
    *arrays, window = example()
    x, w, b, dy = (a.astype("float32") for a in arrays)
    made = []
    for precision in ("tf32", "bfloat16"):
        kernels, y = Fast(cupy(), "float32", precision), lying(rubbish(*dy.shape).astype("float32"), "last")
        op = kernels.convolution(lying(x, "last"), lying(w, "last"), lying(b, "plain"), y, window)
        assert all(len(shape) == 1 for shape, _ in op.scratch)  # nothing is copied
        play(op)
        made.append(y.get())
    assert made[0].tobytes() == made[1].tobytes()


@pytest.mark.parametrize("order", ["plain", "last"])
def test_bfloat16_rounds_what_is_read_and_what_is_made(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "BANDWIDTH", np.inf)
    monkeypatch.setattr(narrowing, "LAUNCH", 0)
    x, w, b, dy, window = example()
    kernels = Fast(cupy(), "float32", "bfloat16")
    on = [lying(a.astype("float32"), "last") for a in (x, dy)]
    y, dx, dw = (lying(rubbish(*a.shape).astype("float32"), o) for a, o in ((dy, "last"), (x, "last"), (w, order)))
    parameters = [lying(a.astype("float32"), order) for a in (w, b)]
    play(kernels.convolution(on[0], parameters[0], parameters[1], y, window))
    play(kernels.convolution_data(on[1], parameters[0], dx, window))
    play(kernels.convolution_weights(on[0], on[1], dw, None, window))
    exact, reference = [rubbish(*a.shape) for a in (dy, x, w)], Kernels(np, "float64")
    for op in (
        reference.convolution(x, w, b, exact[0], window),
        reference.convolution_data(dy, w, exact[1], window),
        reference.convolution_weights(x, dy, exact[2], None, window),
    ):
        op.run(*[np.zeros(shape, kind) for shape, kind in op.scratch])
    for got, wanted in zip((y, dx, dw), exact, strict=True):
        error = np.abs(got.get() - wanted).max() / np.abs(wanted).max()
        assert 1e-4 < error < 2.0**-7


def test_what_lies_right_is_not_copied() -> None:
    x, w, b, dy, window = example()
    kernels, xp = fast("float64"), cupy()
    source, y = lying(x, "last"), lying(dy, "last")
    ops = kernels.convolution(source, xp.asarray(w), xp.asarray(b), y, window).scratch
    assert [shape for shape, _ in ops if len(shape) > 1] == [(8, 9, 4)]
    ops = kernels.convolution(source, lying(w, "last"), xp.asarray(b), y, window).scratch
    assert all(len(shape) == 1 for shape, _ in ops)
    small = kernels.convolution(source, xp.asarray(w[:, :, :1, :1]), None, y, Window((1, 1), (1, 1), ((0, 0), (0, 0))))
    assert all(len(shape) == 1 for shape, _ in small.scratch)


def test_a_captured_convolution_is_replayed() -> None:
    x, w, b, dy, window = example()
    kernels, xp = fast("float64"), cupy()
    source = lying(x, "plain")
    y = lying(rubbish(*dy.shape), "last")
    weights = xp.asarray(w)
    op = kernels.convolution(source, weights, xp.asarray(b), y, window, activation="relu")
    scratch = [xp.empty(shape, dtype) for shape, dtype in op.scratch]
    op.run(*scratch)
    kernels.device.stream.begin_capture()
    op.run(*scratch)
    graph = kernels.device.stream.end_capture()
    weights.set(normal(5, *w.shape))
    graph.launch()
    found = y.get()
    play(op)
    assert np.array_equal(found, y.get())


@ENGINES
def test_the_fastest_engine_is_remembered() -> None:
    x, w, _, dy, window = example(channels=3)
    device = Fast(cupy(), "float64").device
    problem = ConvolutionProblem(DATA, x.shape, w.shape, dy.shape, (1, 1), window.stride, (1, 1), "float64", False)
    times = iter([3.0] * dnn.REPEATED + [2.0] * dnn.REPEATED)
    with patch.object(device.xp.cuda, "get_elapsed_time", lambda a, b: next(times)):
        assert device.dnn.plan(problem).index == 2
    assert dnn.Dnn(device).plan(problem).index == 2


@ENGINES
def test_an_engine_that_cannot_be_built_any_more_is_replaced() -> None:
    x, w, _, dy, window = example(channels=5)
    device = Fast(cupy(), "float64").device
    problem = ConvolutionProblem(DATA, x.shape, w.shape, dy.shape, (1, 1), window.stride, (1, 1), "float64", False)
    kept, declined = str(problem), cudnn().ENGINES[cudnn().DECLINED]
    for chosen in (declined, "an engine of the past"):
        device.dnn.choices.put(kept, chosen)
        found = dnn.Dnn(device).plan(problem)
        assert found.index != cudnn().DECLINED
        assert device.dnn.choices.get(kept) == cudnn().ENGINES[found.index]


@ENGINES
def test_a_problem_without_an_engine_is_refused() -> None:
    device = fast("float64").device
    problem = ConvolutionProblem(
        FORWARD, (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 3, 3), (1, 1), (1, 1), (1, 1), "float64", False
    )
    with pytest.raises(CudnnRefused, match="cuDNN"):
        device.dnn.plan(problem)
