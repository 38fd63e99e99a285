from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.arguments import LrnFactors
from netpart.kernels.op import Array
from tests.kernels.harness import K, close, derivative, normal, peak_bytes, play, rubbish

FACTORS = 0.7, 0.75, 1.3


def naive(x: Array, first: int, channels: int, local_size: int) -> Array:
    alpha, beta, knorm = FACTORS
    y = np.empty((x.shape[0], channels, *x.shape[2:]))
    for j in range(channels):
        middle = first + j
        seen = x[:, max(0, middle - local_size // 2) : middle + local_size // 2 + 1]
        y[:, j] = x[:, middle] * (knorm + alpha / local_size * (seen**2).sum(axis=1)) ** -beta
    return y


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, int, int, int]:
    channels, space = draw(st.integers(0, 7)), draw(st.lists(st.integers(0, 2), max_size=3))
    first = draw(st.integers(0, channels))
    own = draw(st.integers(0, channels - first))
    return normal(1, 2, channels, *space), first, own, draw(st.sampled_from([1, 3, 5]))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_normalises_its_own_channels_and_returns_the_gradient_of_all_it_read(case: tuple[Array, int, int, int]) -> None:
    x, first, own, local_size = case
    shape = (x.shape[0], own, *x.shape[2:])
    y = rubbish(*shape)
    scale = rubbish(*shape)
    dx = rubbish(*x.shape)
    dy = normal(2, *shape)
    play(K.lrn(x, y, scale, LrnFactors(first, local_size, *FACTORS)))
    play(K.lrn_gradient(x, y, scale, dy, dx, LrnFactors(first, local_size, *FACTORS)))
    close(y, naive(x, first, own, local_size))
    close(dx, derivative(lambda: float((naive(x, first, own, local_size) * dy).sum()), x), 1e-8)


def test_parts_with_halo_make_the_whole() -> None:
    x = normal(1, 2, 8, 3)
    dy = normal(2, 2, 8, 3)
    local_size = 5
    halo = 2
    whole_dx, parts_dx = np.zeros_like(x), np.zeros_like(x)
    for lo, hi, dx in [(0, 8, whole_dx), (0, 3, parts_dx), (3, 7, parts_dx), (7, 8, parts_dx)]:
        first, last = max(0, lo - halo), min(8, hi + halo)
        mine, own_dy = np.ascontiguousarray(x[:, first:last]), np.ascontiguousarray(dy[:, lo:hi])
        y, scale, part = (np.empty_like(a) for a in (own_dy, own_dy, mine))
        play(K.lrn(mine, y, scale, LrnFactors(lo - first, local_size, *FACTORS)))
        play(K.lrn_gradient(mine, y, scale, own_dy, part, LrnFactors(lo - first, local_size, *FACTORS)))
        dx[:, first:last] += part
    close(parts_dx, whole_dx)


def test_allocates_nothing() -> None:
    x, y = normal(1, 4, 12, 8, 8), normal(2, 4, 10, 8, 8)
    scale = np.ones_like(y)
    assert peak_bytes(K.lrn(x, y, scale, LrnFactors(1, 5, *FACTORS))) < 4096
    assert peak_bytes(K.lrn_gradient(x, y, scale, y, np.empty_like(x), LrnFactors(1, 5, *FACTORS))) < 4096
