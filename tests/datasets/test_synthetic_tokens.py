from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.synthetic_tokens import SyntheticTokenRows

WINDOW = 50
WORDS = 30
BATCH = 40


def read(rows: SyntheticTokenRows, step: int, lo: int, hi: int) -> tuple[NDArray[Any], NDArray[Any]]:
    data, label = (np.full((hi - lo, WINDOW), -7, np.int32) for _ in range(2))
    rows.read(step, lo, hi, data, label)
    return data, label


def told(noise: float) -> float:
    """The share of tokens whose successor is the most frequent one."""
    data, label = read(SyntheticTokenRows(WINDOW, WORDS, batch=BATCH, noise=noise), 0, 0, BATCH)
    counts = np.zeros((WORDS, WORDS))
    np.add.at(counts, (data.ravel(), label.ravel()), 1)
    return float(counts.max(axis=1).sum() / counts.sum())


def test_labels_are_the_next_tokens() -> None:
    data, label = read(SyntheticTokenRows(WINDOW, WORDS, batch=BATCH), 3, 0, BATCH)
    np.testing.assert_array_equal(data[:, 1:], label[:, :-1])
    assert data.min() == 0
    assert data.max() == WORDS - 1


def test_noise_is_the_odds_of_a_surprise() -> None:
    assert told(0) == 1
    assert 0.45 < told(1) < 0.65
    assert told(20) < 0.25


def test_the_parts_make_the_whole_and_a_box_is_a_part() -> None:
    rows = SyntheticTokenRows(WINDOW, WORDS, batch=5)
    whole, labels = read(rows, 2, 0, 5)
    for lo, hi in ((0, 2), (2, 5)):
        part, some = read(rows, 2, lo, hi)
        np.testing.assert_array_equal(part, whole[lo:hi])
        np.testing.assert_array_equal(some, labels[lo:hi])
    box = np.empty((5, 4), np.int32)
    rows.read(2, 0, 5, box, None, ((3, 7),))
    np.testing.assert_array_equal(box, whole[:, 3:7])
