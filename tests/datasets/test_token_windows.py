"""TokenWindows: rows that stay in their span, and every cut of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.corpus import Corpus
from netpart.data.token_windows import TextTokens, TokenWindows, phase_spans


def test_a_row_is_a_window_and_the_bytes_after_it(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(bytes(range(20)))
    rows = TokenWindows(TextTokens(Corpus([path])), (4, 12), 3, lambda step, lo, hi, bound: [bound - 1] * (hi - lo))
    data, label = np.full((2, 3), -7, np.int32), np.full((2, 3), -7, np.int32)
    rows.read(0, 0, 2, data, label)
    assert (data.tolist(), label.tolist()) == ([[8, 9, 10]] * 2, [[9, 10, 11]] * 2)
    part = np.full((2, 2), -7, np.int32)
    rows.read(0, 0, 2, None, part, ((1, 3),))
    assert part.tolist() == [[10, 11]] * 2


@given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_spans_follow_each_other(size: int, held_out: float) -> None:
    train, val, test = phase_spans(size, held_out)
    assert (train[0], train[1], val[1], test[1]) == (0, val[0], test[0], size)
    assert 0 <= train[1] <= val[1] <= size
    assert abs((val[1] - val[0]) - (test[1] - test[0])) <= 1
    assert abs(size - train[1] - size * held_out) < 1
