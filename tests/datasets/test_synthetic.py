from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from netpart.data import synthetic
from netpart.data.synthetic import SyntheticRows

SHAPES = st.sampled_from([(5,), (6, 9), (3, 4, 10), (2, 3, 9, 3)])


def read(
    rows: SyntheticRows, step: int, lo: int, hi: int, dtype: Any = np.float32
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    data, label = np.full((hi - lo, *rows.shape), np.nan, dtype), np.full(hi - lo, -7, np.int32)
    rows.read(step, lo, hi, data, label)
    return data, label


@given(shape=SHAPES, batch=st.integers(1, 12), step=st.integers(0, 10**9), cut=st.integers(0, 12), data=st.data())
def test_the_parts_of_every_cut_make_the_whole(
    shape: tuple[int, ...], batch: int, step: int, cut: int, data: st.DataObject
) -> None:
    cut = min(cut, batch)
    whole, labels = read(SyntheticRows(shape, 4, batch=batch), step, 0, batch)
    for lo, hi in ((0, cut), (cut, batch)):
        part, some = read(SyntheticRows(shape, 4, batch=batch), step, lo, hi)
        np.testing.assert_array_equal(part, whole[lo:hi])
        np.testing.assert_array_equal(some, labels[lo:hi])
    box = tuple((a, data.draw(st.integers(a, n))) for n in shape for a in [data.draw(st.integers(0, n))])
    region = np.full((batch, *(hi - lo for lo, hi in box)), np.nan, np.float32)
    SyntheticRows(shape, 4, batch=batch).read(step, 0, batch, region, None, box)
    np.testing.assert_array_equal(region, whole[(slice(None), *(slice(lo, hi) for lo, hi in box))])


def test_rows_depend_on_their_number_not_on_the_batch() -> None:
    small, large = SyntheticRows((4, 4), 3, batch=2), SyntheticRows((4, 4), 3, batch=6)
    joined = np.concatenate([read(small, step, 0, 2)[0] for step in range(3, 6)])
    np.testing.assert_array_equal(joined, read(large, 1, 0, 6)[0])


def test_float64_rows_are_the_float32_rows() -> None:
    rows = SyntheticRows((4, 4), 3, batch=5)
    np.testing.assert_array_equal(read(rows, 2, 0, 5, np.float64)[0], read(rows, 2, 0, 5)[0])


@pytest.mark.parametrize("other", [{"seed": 1}, {"stream": 1}])
def test_seeds_and_streams_have_rows_of_their_own(other: dict[str, int]) -> None:
    ours, theirs = (
        read(SyntheticRows((30,), 3, batch=8), 0, 0, 8)[0],
        read(SyntheticRows((30,), 3, batch=8, **other), 0, 0, 8)[0],
    )
    assert np.unique(np.concatenate([ours, theirs]), axis=0).shape[0] == 16


def test_rows_are_their_pattern_plus_noise() -> None:
    data, labels = read(SyntheticRows((3, 8, 8), 5, batch=400, noise=0.5), 0, 0, 400)
    clean, same = read(SyntheticRows((3, 8, 8), 5, batch=400, noise=0.0), 0, 0, 400)
    np.testing.assert_array_equal(labels, same)
    noise = data - clean
    assert noise.mean() == pytest.approx(0, abs=0.01)
    assert noise.std() == pytest.approx(0.5, rel=0.02)
    assert np.abs(np.corrcoef(noise[:20].reshape(20, -1)) - np.eye(20)).max() < 0.35
    assert np.unique(clean, axis=0).shape[0] == 5
    assert (clean**2).mean(axis=(1, 2, 3)) == pytest.approx(np.ones(400), rel=1e-3)
    assert np.bincount(labels, minlength=5).min() > 40


def test_patterns_are_smooth_across_space() -> None:
    clean, _ = read(SyntheticRows((1, 32, 32), 10, batch=20, noise=0.0), 0, 0, 20)
    assert np.abs(np.diff(clean, axis=-1)).mean() < 0.5 * np.abs(clean).mean()


def test_a_linear_classifier_learns_and_the_test_stream_shows_it() -> None:
    train, test = (SyntheticRows((8, 8), 10, batch=400, noise=1.0, stream=stream) for stream in (0, 1))
    x, y = read(train, 0, 0, 400)
    weights, *_ = np.linalg.lstsq(x.reshape(400, -1), np.eye(10)[y], rcond=None)
    x, y = read(test, 0, 0, 400)
    assert ((x.reshape(400, -1) @ weights).argmax(axis=1) == y).mean() > 0.8


def test_few_patterns_are_kept_when_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = read(SyntheticRows((4, 10), 6, batch=30), 0, 0, 30)[0]
    monkeypatch.setattr(synthetic, "_BUDGET", 2 * 4 * 40)
    rows = SyntheticRows((4, 10), 6, batch=30)
    np.testing.assert_array_equal(read(rows, 0, 0, 30)[0], kept)
    assert len(rows._patterns) == 2
