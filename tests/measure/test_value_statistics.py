"""Value statistics: blocks give the figures of all rows together, and what is not finite counts apart."""

from __future__ import annotations

import numpy as np

from netpart.measure.value_statistics import NAMED, ChannelValues, ValueStatistics


def test_blocks_give_the_figures_of_all_rows_far_from_0() -> None:
    """The squares of these values have 16 digits, so their difference would have none."""
    rows = 1e8 + np.random.default_rng(0).normal(size=(37, 3, 4, 5)) * [[[1]], [[2]], [[4]]]
    statistics = ValueStatistics((3, 4, 5))
    for lo, hi in ((0, 1), (1, 20), (20, 37)):
        statistics.add(lo, rows[lo:hi])
    found = statistics.summary()
    assert np.allclose([c.std for c in found.channels if c.std], rows.std((0, 2, 3)), rtol=1e-9)
    assert np.allclose([c.mean for c in found.channels if c.mean], rows.mean((0, 2, 3)), rtol=1e-15)
    assert found.overall.std is not None
    assert np.isclose(found.overall.std, rows.std(), rtol=1e-9)
    assert [c.minimum for c in found.channels] == rows.min((0, 2, 3)).tolist()


def test_columns_of_vectors_and_one_channel_of_maps() -> None:
    assert len(ValueStatistics((4,)).summary().channels) == 4
    assert len(ValueStatistics((1000,)).summary().channels) == 1
    assert len(ValueStatistics((28, 28)).summary().channels) == 1
    assert len(ValueStatistics(()).summary().channels) == 1


def test_what_is_not_finite_is_counted_and_named() -> None:
    rows = np.zeros((3 * NAMED, 2, 2, 2))
    rows[::2, 0, 0, 0] = np.nan
    rows[1, 1] = np.inf
    rows[3, 1, 0, 0] = 5
    statistics = ValueStatistics((2, 2, 2))
    statistics.add(0, rows[:5])
    statistics.add(5, rows[5:])
    found = statistics.summary()
    assert (found.nan, found.infinite) == (NAMED * 3 // 2, 4)
    assert found.rows[:4] == (0, 1, 2, 4)
    assert len(found.rows) == NAMED
    assert found.channels[1].maximum == 5
    statistics = ValueStatistics((1, 1, 1))
    statistics.add(0, np.full((2, 1, 1, 1), np.nan))
    assert statistics.summary().overall == ChannelValues(None, None, None, None)
