from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array
from tests.kernels.harness import K, close, normal, peak_bytes, play, rubbish

Case = tuple[Array, Array, Array | None, Array, bool]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    batch, outputs = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    features, transpose = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)), draw(st.booleans())
    w = normal(2, *features, outputs) if transpose else normal(2, outputs, *features)
    b = normal(3, outputs) if draw(st.booleans()) else None
    return normal(1, batch, *features), w, b, normal(4, batch, outputs), transpose


@settings(max_examples=150, deadline=None)
@given(cases())
def test_agrees_with_the_definition(case: Case) -> None:
    x, w, b, dy, transpose = case
    y = rubbish(*dy.shape)
    dx = rubbish(*x.shape)
    dw = rubbish(*w.shape)
    db = None if b is None else rubbish(*b.shape)
    play(K.inner_product(x, w, b, y, transpose))
    play(K.inner_product_data(dy, w, dx, transpose))
    play(K.inner_product_weights(x, dy, dw, db, transpose))
    w_of = np.moveaxis(w, -1, 0) if transpose else w
    dw_of = np.moveaxis(dw, -1, 0) if transpose else dw
    for row in range(len(x)):
        for o in range(len(w_of)):
            close(y[row, o], (x[row] * w_of[o]).sum() + (0 if b is None else b[o]))
        close(dx[row], sum((dy[row, o] * w_of[o] for o in range(len(w_of))), np.zeros(x.shape[1:])))
    for o in range(len(w_of)):
        close(dw_of[o], sum(dy[row, o] * x[row] for row in range(len(x))))
    if db is not None:
        close(db, dy.sum(axis=0))


def test_allocates_nothing() -> None:
    x = normal(1, 16, 4, 30)
    w = normal(2, 40, 4, 30)
    b = normal(3, 40)
    y = normal(4, 16, 40)
    ops = [
        K.inner_product(x, w, b, y, False),
        K.inner_product_data(y, w, np.empty_like(x), False),
        K.inner_product_weights(x, y, np.empty_like(w), np.empty_like(b), False),
    ]
    assert max(map(peak_bytes, ops)) < 4096
