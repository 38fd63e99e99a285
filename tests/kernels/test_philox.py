from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels import philox
from netpart.kernels.op import Array
from netpart.kernels.philox import (
    UniformDraws,
    draw_integer,
    draw_integers,
    draw_normals,
    draw_permutation,
    draw_uniforms,
    philox4x32,
    stream_key,
)
from netpart.spec import Region, extent, relative_slices, whole_region

SHAPE = (5, 6, 7)
FULL = whole_region(SHAPE)
KEY = stream_key(1, "conv1", "init")


@pytest.mark.parametrize(
    ("counter", "secret", "wanted"),
    [
        ([0] * 4, (0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            (0xA4093822, 0x299F31D0),
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_published_vectors(counter: list[int], secret: tuple[int, int], wanted: list[int]) -> None:
    """The known answers of Random123's kat_vectors."""
    words = [np.array([w], "uint64") for w in counter]
    assert [int(w[0]) for w in philox4x32(np, words, np.empty(1, "uint64"), secret)] == wanted


def test_keys_tell_seed_name_and_purpose_apart() -> None:
    keys = {stream_key(s, n, p) for s in (0, 1) for n in ("a", "ab") for p in ("init", "bmask", "mask")}
    assert len(keys) == 12
    assert all(0 <= word < 2**32 for pair in keys for word in pair)
    assert stream_key(1, "conv1", "init") == KEY


boxes = st.tuples(
    *(st.lists(st.integers(0, n), min_size=2, max_size=2).map(lambda ends: tuple(sorted(ends))) for n in SHAPE)
)


@settings(max_examples=150, deadline=None)
@given(boxes, st.sampled_from([1, 3, 1 << 14]))
def test_a_value_depends_on_its_element_alone(box: Region, chunk: int) -> None:
    for draw in (draw_uniforms, draw_normals):
        everything = draw(KEY, FULL, SHAPE)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(philox, "BLOCKS", chunk)
            got = draw(KEY, box, SHAPE)
        assert got.dtype == np.float64
        assert np.array_equal(got, everything[relative_slices(box, FULL)])


@settings(max_examples=100, deadline=None)
@given(boxes, st.tuples(st.integers(0, 9), st.integers(0, 9)), st.sampled_from(["float32", "float64"]))
def test_a_planned_draw_depends_on_step_phase_row_and_element_alone(
    box: Region, ends: tuple[int, int], dtype: str
) -> None:
    def fill(rows: tuple[int, int], box: Region, dtype: str, step: int = 2, phase: int = 1) -> Array:
        draw = UniformDraws(np, KEY, rows, box, SHAPE, phase)
        out = np.full((rows[1] - rows[0], *extent(box)), 5, dtype)
        draw.uniform(out, step, *(np.empty(s, d) for s, d in draw.scratch))
        return out

    rows = min(ends), max(ends)
    everything = fill((0, 9), FULL, "float64")
    assert np.array_equal(
        fill(rows, box, dtype), everything[rows[0] : rows[1]][(slice(None), *relative_slices(box, FULL))]
    )
    assert not np.array_equal(fill((0, 9), FULL, "float64", step=3), everything)
    assert not np.array_equal(fill((0, 9), FULL, "float64", phase=4), everything)


@pytest.mark.parametrize("ends", [(1, 6), (0, 8), (4, 8), (0, 6)])
@pytest.mark.parametrize("step", [9, (1 << 32) + 9])
def test_a_planned_draw_is_the_words_that_its_counters_give(ends: tuple[int, int], step: int) -> None:
    draw = UniformDraws(np, KEY, (3, 5), (ends,), (8,), 4)
    out = np.empty((2, ends[1] - ends[0]))
    draw.uniform(out, step, *(np.empty(s, d) for s, d in draw.scratch))
    for row in (3, 4):
        for element in range(*ends):
            words = [np.array([w], "uint64") for w in (9, 4, row, element // 4)]
            word = int(philox4x32(np, words, np.empty(1, "uint64"), KEY)[element % 4][0])
            assert out[row - 3, element - ends[0]] == (word >> 8) / 2**24


def test_rows_without_axes_draw_one_value_each() -> None:
    draw, out = UniformDraws(np, KEY, (0, 3), (), (), 1), np.full(3, 5.0)
    draw.uniform(out, 0, *(np.empty(s, d) for s, d in draw.scratch))
    assert len(set(out.tolist())) == 3
    assert (out < 1).all()


def test_a_row_longer_than_a_chunk_of_blocks_is_drawn_whole() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(philox, "BLOCKS", 2)
        draw = UniformDraws(np, KEY, (0, 3), FULL, SHAPE, 1)
    assert draw.scratch[0][0] == (4, 1, 53)


def test_moments() -> None:
    shape = (400, 250)
    u, z = draw_uniforms(KEY, whole_region(shape), shape), draw_normals(KEY, whole_region(shape), shape)
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 0.005
    assert abs(u.var() - 1 / 12) < 0.002
    assert abs(z.mean()) < 0.02
    assert abs(z.var() - 1) < 0.03
    assert abs((z**3).mean()) < 0.05
    assert abs((z**4).mean() - 3) < 0.15
    assert abs(np.corrcoef(z[:, 0::2].ravel(), z[:, 1::2].ravel())[0, 1]) < 0.02


@given(st.integers(0, 50), st.integers(0, 3))
def test_permutations_hold_everything_once(n: int, epoch: int) -> None:
    order = draw_permutation(KEY, epoch, n)
    assert sorted(order.tolist()) == list(range(n))
    assert np.array_equal(order, draw_permutation(KEY, epoch, n))


def test_epochs_have_orders_of_their_own() -> None:
    assert not np.array_equal(draw_permutation(KEY, 0, 100), draw_permutation(KEY, 1, 100))


def test_integers_are_even_and_in_range() -> None:
    drawn = [draw_integer(KEY, 1, 1, row, element, 5) for row in range(40) for element in range(25)]
    counts = np.bincount(drawn, minlength=5)
    assert len(counts) == 5
    assert counts.min() > 150
    assert draw_integer(KEY, 0, 0, 0, 0, 1) == 0


@given(
    rows=st.tuples(st.integers(0, 2**20), st.integers(0, 5)), step=st.integers(0, 2**40), bound=st.integers(1, 2**64)
)
def test_integers_of_rows_are_drawn_one_by_one_or_together(rows: tuple[int, int], step: int, bound: int) -> None:
    lo, hi = rows[0], rows[0] + rows[1]
    drawn = draw_integers(KEY, step, 2, (lo, hi), bound)
    assert drawn == [x for r in range(lo, hi) for x in draw_integers(KEY, step, 2, (r, r + 1), bound)]
    assert all(0 <= x < bound for x in drawn)
    words = [draw_integer(KEY, step & 0xFFFFFFFF, 2, r, 0, 2**32) for r in range(lo, hi)]
    assert draw_integers(KEY, step, 2, (lo, hi), 2**32) == words
