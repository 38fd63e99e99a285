"""Repeated: the first mini-batches of a source again and again, whoever asks for which part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data import row_source
from netpart.data.repeated_rows import repeat_batches
from netpart.data.row_source import RowSource
from netpart.data.synthetic import SyntheticRows

BATCH, SHAPE = 6, (2, 5)


def read(source: RowSource, step: int, lo: int, hi: int) -> list[float]:
    data, label = np.full((hi - lo, *SHAPE), np.nan, np.float32), np.full(hi - lo, -7, np.int32)
    source.read(step, lo, hi, data, label)
    return [*data.ravel().tolist(), *label.tolist()]


@given(batches=st.integers(1, 4), reads=st.lists(st.tuples(st.integers(0, 20), st.integers(0, BATCH)), max_size=12))
def test_a_step_reads_what_an_earlier_one_read(batches: int, reads: list[tuple[int, int]]) -> None:
    source = SyntheticRows(SHAPE, 3, batch=BATCH)
    again = repeat_batches(source, batches)
    for step, hi in reads:
        assert read(again, step, 0, hi) == read(source, step % batches, 0, hi)


def test_what_was_read_may_be_written_over() -> None:
    again = repeat_batches(SyntheticRows(SHAPE, 3, batch=BATCH), 1)
    data = np.empty((BATCH, *SHAPE), np.float32)
    again.read(0, 0, BATCH, data, None)
    first = data.copy()
    data.fill(0)
    again.read(1, 0, BATCH, data, None)
    assert (data == first).all()


def test_what_is_kept_has_the_memory_order_of_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    again = repeat_batches(SyntheticRows(SHAPE, 3, batch=BATCH), 1)
    data = np.moveaxis(np.empty((BATCH, SHAPE[1], SHAPE[0]), np.float32), -1, 1)
    copied: list[tuple[int, ...]] = []
    monkeypatch.setattr(row_source, "copy_in_pieces", lambda target, values: copied.append(values.strides))
    again.read(0, 0, BATCH, data, None)
    again.read(1, 0, BATCH, data, None)
    assert copied == [data.strides]


def test_without_batches_every_one_is_new() -> None:
    source = SyntheticRows(SHAPE, 3, batch=BATCH)
    assert repeat_batches(source, 0) is source
