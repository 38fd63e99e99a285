from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netpart.kernels import convolution as plain_convolution
from netpart.kernels import reference
from netpart.kernels.activation import Kind
from netpart.kernels.bfloat16 import ELEMENT, rounded, widened
from netpart.kernels.choose import has_bfloat16
from netpart.kernels.onednn import kernels as onednn_kernels
from netpart.kernels.onednn import winograd
from netpart.kernels.onednn.gradient_windows import has_right_gradients
from netpart.kernels.onednn.library import OneDnnLibrary, OneDnnRefused, missing_onednn
from netpart.kernels.onednn.winograd import WinogradCalls, winograd_pays
from netpart.kernels.onednn.winograd_tiles import TAPS, B, LineTiles, equal_strip, output_matrix, weight_matrix
from netpart.kernels.op import Array, Window
from netpart.kernels.reference import Kernels
from tests.kernels.harness import normal, play, rubbish
from tests.kernels.onednn_kernels import ORDERS, REFERENCE, fast, lying, near, needed
from tests.thorough import example_count

pytestmark = needed

narrow = pytest.mark.skipif(bool(missing_onednn()) or not has_bfloat16(), reason="no processor with bfloat16")

U = 2.0**-8
THREE, FIVE = (Window((n, n), (1, 1), ((n // 2, n // 2),) * 2) for n in (3, 5))
SIX = Window((6, 6), (1, 1), ((3, 2), (3, 2)))


ACTIVATIONS = st.sampled_from([None, *onednn_kernels.Kernels.fuses])


class Case(NamedTuple):
    """Extents of x, y and w, whether there is a bias, and the window."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    y: tuple[int, ...]
    biased: bool
    window: Window


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Convolutions that slide a filter of two to five lines; any windows on the other axes."""
    sizes: list[int] = []
    kernel: list[int] = []
    stride: list[int] = []
    pads: list[tuple[int, int]] = []
    dilation: list[int] = []
    outs: list[int] = []
    for axis in range(draw(st.integers(2, 3))):
        kernel.append(draw(st.integers(1, 3) if axis else st.sampled_from(TAPS)))
        stride.append(draw(st.integers(1, 2)) if axis else 1)
        dilation.append(draw(st.integers(1, 2)) if axis else 1)
        most = kernel[-1] - 1 if axis == 0 else 2
        pads.append((draw(st.integers(0, most)), draw(st.integers(0, most))))
        reach = (kernel[-1] - 1) * dilation[-1] + 1
        sizes.append(draw(st.integers(max(1, reach - sum(pads[-1])), 11)))
        outs.append((sizes[-1] + sum(pads[-1]) - reach) // stride[-1] + 1)
    batch, channels, filters = (draw(st.integers(1, most)) for most in (4, 20, 20))
    window = Window(tuple(kernel), tuple(stride), tuple(pads), tuple(dilation))
    biased = draw(st.booleans())
    return Case((batch, channels, *sizes), (filters, channels, *kernel), (batch, filters, *outs), biased, window)


def results(
    kernels: Kernels, case: Case, orders: tuple[str, str] = ("plain", "plain"), activation: Kind | None = None
) -> list[Array]:
    """y, dx, dw and, if there is a bias, db."""
    dtype = kernels.dtype
    lies = lying if dtype == np.float32 else lambda _, array: array.copy()
    below, above = orders
    x, dy = lies(below, normal(1, *case.x)), lies(above, normal(4, *case.y))
    y, dx = lies(above, rubbish(*case.y)), lies(below, rubbish(*case.x))
    w, dw = normal(2, *case.w).astype(dtype), rubbish(*case.w, dtype=dtype)
    b, db = (normal(3, case.w[0]).astype(dtype), rubbish(case.w[0], dtype=dtype)) if case.biased else (None, None)
    play(kernels.convolution(x, w, b, y, case.window, 1, activation))
    play(kernels.convolution_data(dy, w, dx, case.window))
    play(kernels.convolution_weights(x, dy, dw, db, case.window))
    return [y, dx, dw] if db is None else [y, dx, dw, db]


@settings(max_examples=example_count(100), deadline=None)
@given(
    cases(),
    ORDERS,
    ORDERS,
    ACTIVATIONS,
    st.sampled_from([1, 1 << 14, 1 << 23]),
)
def test_agrees_with_the_reference(case: Case, below: str, above: str, activation: Kind | None, size: int) -> None:
    with patch.multiple(winograd, RATE=0, BYTES=size):
        kernels = fast()
        sums, found = (results(kernels, case, (below, above), each) for each in (None, activation))
    # Windows whose gradients oneDNN has wrong are refused where too few lines are left for tiles.
    x, y = (np.empty(shape, np.float32) for shape in (case.x, case.y))
    assert not kernels.refusals or not has_right_gradients(x, y, case.window)
    for got, expected in zip(sums, results(REFERENCE, case), strict=True):
        near(got, expected)
    # Of sums that cancel, a bounded function has their error; so it is compared with that of the same sums.
    wanted = [sums[0].astype(REFERENCE.dtype), *sums[1:]]
    if activation is not None:
        play(REFERENCE.activation(activation, wanted[0], wanted[0]))
    for got, expected in zip(found, wanted, strict=True):
        near(got, expected)


def narrow_results(
    kernels: Kernels, case: Case, orders: tuple[str, str] = ("last", "last"), activation: Kind | None = None,
    size: Callable[[Array], Array] = np.asarray,
) -> list[Array]:  # fmt: skip
    """``results`` on numbers that bfloat16 holds, or on their ``size``: in bfloat16 unless ``kernels`` are the
    reference. The tensors and the weights are in ``orders``."""
    dtype = rounded if kernels is not REFERENCE else lambda array: array
    tensors, weights = orders

    def stored(order: str, seed: int, *shape: int) -> Array:
        return dtype(size(widened(rounded(lying(order, normal(seed, *shape))))))

    x, dy, w = stored(tensors, 1, *case.x), stored(tensors, 4, *case.y), stored(weights, 2, *case.w)
    y, dx = (dtype(lying(tensors, rubbish(*shape))) for shape in (case.y, case.x))
    dw = rubbish(*case.w, dtype=np.float32)
    bias = size(normal(3, case.w[0]).astype(np.float32))
    b, db = (bias, rubbish(case.w[0], dtype=np.float32)) if case.biased else (None, None)
    play(kernels.convolution(x, w, b, y, case.window, 1, activation))
    play(kernels.convolution_data(dy, w, dx, case.window))
    play(kernels.convolution_weights(x, dy, dw, db, case.window))
    return [widened(a) for a in (y, dx, dw)] + ([] if db is None else [db])


@pytest.fixture
def without_matrix_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with AMX has no tiles in bfloat16, but can make them."""
    monkeypatch.setattr(OneDnnLibrary, "has_matrix_unit", False)


@narrow
@pytest.mark.usefixtures("without_matrix_unit")
@settings(max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases(), st.tuples(ORDERS, ORDERS), ACTIVATIONS, st.sampled_from([1, 1 << 14, 1 << 23]))
def test_in_bfloat16_sums_lose_some_roundings_of_their_addends(
    case: Case, orders: tuple[str, str], activation: Kind | None, space: int
) -> None:
    with patch.multiple(winograd, RATE=0, BYTES=space):
        kernels = narrow_kernels()
        found = narrow_results(kernels, case, orders, activation)
    # The window of the points may be one whose gradients oneDNN has wrong although it has those of the whole right.
    left = [verb for verb, _ in kernels.refusals if "describe_tiles" not in verb]
    x, y = (np.empty(shape, ELEMENT) for shape in (case.x, case.y))
    assert not left or not has_right_gradients(x, y, case.window)
    exact = narrow_results(REFERENCE, case, orders, activation)
    squares = narrow_results(REFERENCE, case, orders, None, np.square)
    for got, wanted, addends in zip(found, exact, squares, strict=True):
        assert np.linalg.norm(got - wanted) <= 8 * U * np.linalg.norm(np.sqrt(addends))


@narrow
@pytest.mark.usefixtures("without_matrix_unit")
@pytest.mark.parametrize("taps", TAPS)
@pytest.mark.parametrize("channels", [16, 256])
def test_in_bfloat16_errs_as_a_few_roundings_do(channels: int, taps: int) -> None:
    case = square_case(channels, taps)
    kernels = narrow_kernels()
    with patch.object(winograd, "RATE", 0):
        found = narrow_results(kernels, case)
    assert [kind for kind, _ in kernels.implementations].count("matmul") > 6, "not all verbs were made in tiles"
    assert not kernels.refusals
    assert all(_error(got, right) < 3 * U for got, right in zip(found, narrow_results(REFERENCE, case), strict=True))


@narrow
@pytest.mark.usefixtures("without_matrix_unit")
def test_float32_weights_of_bfloat16_tensors_are_rounded_at_the_points() -> None:
    case = square_case(16, 3)
    x, w = rounded(lying("last", normal(1, *case.x))), normal(2, *case.w).astype(np.float32)
    y, wanted = rounded(lying("last", rubbish(*case.y))), lying("last", rubbish(*case.y))
    kernels = narrow_kernels()
    with patch.object(winograd, "RATE", 0):
        play(kernels.convolution(x, w, None, y, case.window))
    play(REFERENCE.convolution(widened(x), w, None, wanted, case.window))
    assert not kernels.refusals
    assert _error(widened(y), wanted) < 3 * U


def narrow_kernels() -> onednn_kernels.Kernels:
    """Kernels of bfloat16 that have bound nothing yet."""
    return onednn_kernels.Kernels(np, "float32", "bfloat16")


def test_bfloat16_holds_the_matrices_of_the_transforms() -> None:
    for matrix in (B, *map(output_matrix, TAPS)):
        np.testing.assert_array_equal(widened(rounded(matrix)), matrix)


@pytest.mark.parametrize("stored", ["float32", pytest.param("bfloat16", marks=narrow)])
@pytest.mark.usefixtures("without_matrix_unit")
def test_a_refused_tile_leaves_the_direct_convolution_of_onednn(stored: str) -> None:
    case = Case((2, 16, 12, 12), (16, 16, 3, 3), (2, 16, 12, 12), True, THREE)
    kernels, played = (narrow_kernels(), narrow_results) if stored == "bfloat16" else (fast(), results)

    def refuse(*_: object) -> None:
        raise OneDnnRefused("no matmul")

    with (
        patch.object(winograd, "RATE", 0),
        patch.multiple(WinogradCalls, forward=refuse, data=refuse, weights=refuse),
        patch.multiple(
            plain_convolution.Convolution, convolution=refuse, convolution_data=refuse, convolution_weights=refuse
        ),
    ):
        found = played(kernels, case)
    assert len(kernels.refusals) == 3
    made = [name for kind, name in kernels.implementations if kind.startswith("convolution")]
    assert len(made) == 3
    assert all(("bf16" in name) == (stored == "bfloat16") for name in made)
    for got, expected in zip(found, played(REFERENCE, case), strict=True):
        near(got, expected, 2e-5 if stored == "float32" else 2 * U)


@pytest.mark.parametrize("taps", TAPS)
def test_a_tile_computes_a_convolution(taps: int) -> None:
    x, w = normal(1, 6), normal(2, taps)
    y = np.correlate(x, w)
    np.testing.assert_allclose(output_matrix(len(y)) @ ((weight_matrix(taps) @ w) * (B @ x)), y, rtol=1e-5, atol=1e-5)


def square_case(channels: int, taps: int) -> Case:
    """A convolution of images of 12 x 12 by filters of ``taps`` x ``taps``, without padding."""
    window = Window((taps, taps), (1, 1), ((0, 0), (0, 0)))
    return Case((2, channels, 12, 12), (16, channels, taps, taps), (2, 16, 13 - taps, 13 - taps), False, window)


@pytest.mark.parametrize("taps", TAPS)
@pytest.mark.parametrize("channels", [16, 256])
def test_loses_at_most_a_digit_compared_with_sums(channels: int, taps: int) -> None:
    """Errors relative to float64, of the root mean square, with and without tiles."""
    case = square_case(channels, taps)
    exact = results(reference.Kernels(np, "float64"), case)
    errors = []
    for rate in (0, 1e9):
        with patch.object(winograd, "RATE", rate):
            found = results(fast(), case, ("last", "last"))
        errors.append([_error(got, wanted) for got, wanted in zip(found, exact, strict=True)])
    assert max(errors[0]) < 2e-6
    assert all(tiled < 8 * plain for tiled, plain in zip(*errors, strict=True))


def _error(got: Array, wanted: Array) -> float:
    return float(np.sqrt(np.mean((got - wanted) ** 2) / np.mean(wanted**2)))


@pytest.mark.parametrize(
    ("channels", "filters", "lines", "window", "groups", "pays"),
    [
        (64, 64, 32, THREE, 1, True),
        (64, 64, 32, FIVE, 1, True),
        (16, 16, 32, FIVE, 1, False),  # what is saved takes less than the transforms
        (64, 64, 32, SIX, 1, False),  # a tile would have one output
        (64, 64, 32, THREE, 2, False),  # groups
        (3, 16, 32, THREE, 1, False),  # too few channels to save much
        (64, 64, 1, THREE, 1, False),  # a tile has one output
        (512, 512, 4, THREE, 1, False),  # more weights than places
        (64, 64, 32, Window((3, 3), (2, 1), ((1, 1), (1, 1))), 1, False),  # in steps of two
        (64, 64, 32, Window((3, 3), (1, 1), ((1, 1), (1, 1)), (2, 1)), 1, False),  # dilated; read one line more
    ],
)
def test_pays_where_it_saves_more_than_it_moves(
    channels: int, filters: int, lines: int, window: Window, groups: int, pays: bool
) -> None:
    x, y = (np.empty((2, n, lines, 32), np.float32) for n in (channels, filters))
    w: Array = np.empty((filters, channels // groups, *window.kernel), np.float32)
    assert winograd_pays(x, w, y, window, groups) is pays


@narrow
@pytest.mark.parametrize(
    ("channels", "lines", "matrix_unit", "pays"),
    [
        (64, 56, False, (True, True)),
        (256, 14, False, (True, False)),  # the gradient of many weights is float32
        (512, 7, False, (False, False)),
        (64, 56, True, (False, False)),  # products take less time than any transform
    ],
)
def test_in_bfloat16_products_take_half_the_time(
    channels: int, lines: int, matrix_unit: bool, pays: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OneDnnLibrary, "has_matrix_unit", matrix_unit)
    x: Array = np.empty((16, channels, lines, lines), ELEMENT)
    weights = (np.empty((channels, channels, 3, 3), dtype) for dtype in (ELEMENT, np.float32))
    assert tuple(winograd_pays(x, w, x, THREE, 1) for w in weights) == pays


def test_small_tensors_with_large_weights_do_not_get_much_room() -> None:
    x, y = np.empty((2, 768, 8, 8, 8), np.float32), np.empty((2, 256, 8, 8, 8), np.float32)
    w: Array = np.empty((256, 768, 3, 3, 3), np.float32)
    window = Window((3, 3, 3), (1, 1, 1), ((1, 1),) * 3)
    assert not winograd_pays(x, w, y, window, 1)
    with patch.object(winograd, "ROOM", 1 << 30):
        assert winograd_pays(x, w, y, window, 1)


def test_tiles_at_the_ends_read_fewer_lines() -> None:
    tiles = LineTiles(inputs=9, outputs=9, low=1, taps=3)
    found = [tiles.tile(i) for i in range(tiles.count)]
    assert [tile.inputs for tile in found] == [(0, 5), (3, 9), (7, 9)]
    assert [tile.outputs for tile in found] == [(0, 4), (4, 8), (8, 9)]
    assert [tile.before for tile in found] == [1, 0, 0]


def test_longer_filters_make_fewer_outputs_of_a_tile() -> None:
    tiles = LineTiles(inputs=9, outputs=9, low=2, taps=5)
    found = [tiles.tile(i) for i in range(tiles.count)]
    assert [tile.inputs for tile in found] == [(0, 4), (0, 6), (2, 8), (4, 9), (6, 9)]
    assert [tile.outputs for tile in found] == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]


def test_strips_are_equal_and_fit() -> None:
    assert equal_strip(6, 8, 100, 1200) == (3, 4)
    assert equal_strip(6, 8, 100, 99) == (1, 1)
    assert equal_strip(1, 7, 100, 600) == (1, 1)
