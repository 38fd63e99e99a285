from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.activation import Kind
from netpart.kernels.onednn import strips, turned_products
from netpart.kernels.onednn.turned_products import LEAST_WEIGHTS
from netpart.kernels.op import Array, Window
from netpart.kernels.reference import Kernels
from tests.kernels.harness import normal, play, rubbish
from tests.kernels.onednn_kernels import ORDERS, REFERENCE, fast, lying, near, needed

pytestmark = needed

ACTIVATIONS: list[Kind | None] = [None, "relu", "relu6", "tanh"]

Case = tuple[Array, Array, Array | None, Array, Window, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    axes, groups = draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2, 3]))
    sizes = []
    outs = []
    kernel = []
    stride = []
    pads = []
    dilation = []
    for _ in range(axes):
        n = draw(st.integers(0, 9))
        k = draw(st.integers(1, 3))
        s = draw(st.integers(1, 3))
        d = draw(st.integers(1, 2))
        lo, hi = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        sizes.append(n)
        kernel.append(k)
        stride.append(s)
        pads.append((lo, hi))
        dilation.append(d)
        outs.append(max(0, (n + lo + hi - (k - 1) * d - 1) // s + 1))
    seen, share = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    batch = draw(st.integers(1, 3))
    x, w = normal(1, batch, groups * seen, *sizes), normal(2, groups * share, seen, *kernel)
    b = normal(3, groups * share) if draw(st.booleans()) else None
    window = Window(tuple(kernel), tuple(stride), tuple(pads), tuple(dilation))
    return x, w, b, normal(4, batch, groups * share, *outs), window, groups


def single(array: Array | None) -> Array | None:
    return None if array is None else array.astype("float32")


def played(kernels: Kernels, orders: tuple[str, str], case: Case, activation: Kind | None) -> list[Array | None]:
    """y, dx, dw and db of ``case`` with x and dx, y and dy lying in ``orders``."""
    x, w, b, dy, window, groups = case
    below, above = orders
    source, dx = lying(below, x), lying(below, rubbish(*x.shape))
    upper, y = lying(above, dy), lying(above, rubbish(*dy.shape))
    weights, bias = single(w), single(b)
    dw, db = single(rubbish(*w.shape)), None if b is None else single(rubbish(*b.shape))
    play(kernels.convolution(source, weights, bias, y, window, groups, activation))
    play(kernels.convolution_data(upper, weights, dx, window, groups))
    play(kernels.convolution_weights(source, upper, dw, db, window, groups))
    return [y, dx, dw, db]


@settings(max_examples=200, deadline=None)
@given(cases(), ORDERS, ORDERS, st.integers(1, 40), st.integers(1, 1 << 14))
def test_strips_agree_with_the_reference(case: Case, below: str, above: str, most: int, size: int) -> None:
    wanted = played(REFERENCE, ("plain", "plain"), case, None)
    with patch.multiple(strips, MOST=most, BYTES=size):
        found = played(fast(), (below, above), case, None)
    for got, expected in zip(found, wanted, strict=True):
        if expected is not None:
            near(got, expected)


@settings(max_examples=300, deadline=None)
@given(cases(), ORDERS, ORDERS, st.sampled_from(ACTIVATIONS), st.sampled_from([1, LEAST_WEIGHTS]))
def test_agrees_with_the_reference(case: Case, below: str, above: str, activation: Kind | None, least: int) -> None:
    wanted = played(REFERENCE, ("plain", "plain"), case, activation)
    with patch.object(turned_products, "LEAST_WEIGHTS", least):
        found = played(fast(), (below, above), case, activation)
    for got, expected in zip(found, wanted, strict=True):
        if expected is not None:
            near(got, expected)
