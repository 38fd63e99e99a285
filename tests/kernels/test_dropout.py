from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.op import Array, Clock
from netpart.kernels.philox import UniformDraws, stream_key
from netpart.kernels.reference import Kernels
from netpart.spec import extent, relative_slices
from tests.kernels.harness import K, close, normal, peak_bytes, play, rubbish

KEY = stream_key(7, "drop", "mask")
ROWS, SHAPE = 12, (5, 7)


def mask_of(step: int, ratio: float, dtype: str = "float64") -> Array:
    """The mask of the uncut layer."""
    draw, x = UniformDraws(np, KEY, (0, ROWS), ((0, 5), (0, 7)), SHAPE, 1), np.ones((ROWS, *SHAPE), dtype)
    mask = np.empty_like(x)
    play(Kernels(np, dtype).dropout(x, np.empty_like(x), mask, draw, ratio, Clock(step)))
    return mask


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_a_part_drops_what_the_whole_drops(data: st.DataObject, ratio: float) -> None:
    region = tuple(
        tuple(sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2)))) for n in (ROWS, *SHAPE)
    )
    x = normal(1, *extent(region))  # type: ignore[arg-type]
    y = rubbish(*x.shape)
    mask = rubbish(*x.shape)
    dx = rubbish(*x.shape)
    clock = Clock(3)
    rows, *box = region
    draw = UniformDraws(np, KEY, rows, tuple(box), SHAPE, 1)  # type: ignore[arg-type]
    play(K.dropout(x, y, mask, draw, ratio, clock))
    play(K.dropout_gradient(x, mask, dx))
    wanted = mask_of(3, ratio)[relative_slices(region, ((0, ROWS), (0, 5), (0, 7)))]  # type: ignore[arg-type]
    assert np.array_equal(mask, wanted)
    close(y, x * wanted)
    close(dx, x * wanted)


@pytest.mark.parametrize("ratio", [0.3, 0.5])
def test_masks_hold_zero_or_the_inverse_of_what_is_kept(ratio: float) -> None:
    mask = mask_of(1, ratio)
    assert set(np.unique(mask)) == {0.0, 1 / (1 - ratio)}
    assert abs((mask == 0).mean() - ratio) < 4 * (ratio * (1 - ratio) / mask.size) ** 0.5


def test_each_step_has_its_own_mask_and_both_precisions_have_the_same() -> None:
    assert not np.array_equal(mask_of(1, 0.5), mask_of(2, 0.5))
    assert np.array_equal(mask_of(1, 0.3) == 0, mask_of(1, 0.3, "float32") == 0)


@pytest.mark.parametrize(("ratio", "kept"), [(0.0, 1.0), (1.0, 0.0)])
def test_the_extremes_keep_all_or_nothing(ratio: float, kept: float) -> None:
    assert np.array_equal(mask_of(0, ratio), np.full((ROWS, *SHAPE), kept))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_allocates_nothing(dtype: str) -> None:
    draw, x = UniformDraws(np, KEY, (0, 40), ((1, 300),), (400,), 1), np.ones((40, 299), dtype)
    y = np.empty_like(x)
    mask = np.empty_like(x)
    kernels = Kernels(np, dtype)
    assert peak_bytes(kernels.dropout(x, y, mask, draw, 0.5, Clock(1))) < 4096
    assert peak_bytes(kernels.dropout_gradient(x, mask, y)) < 4096
