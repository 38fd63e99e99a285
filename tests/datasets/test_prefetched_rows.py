"""A prefetched source gives what the source gives, and has read the next step before it is asked for."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.data.prefetched_rows import PrefetchedRows
from netpart.data.row_source import RowOutputs, RowSource
from netpart.data.synthetic import SyntheticRows
from netpart.errors import DataError
from netpart.spec import Region, Shape

DEADLINE = 10.0


class Noted(RowSource):
    """A source that notes the steps it reads."""

    def __init__(self) -> None:
        self.rows = SyntheticRows((3,), 2, batch=4)
        self.shape: Shape = (3,)
        self.steps: list[int] = []
        self.ahead = threading.Event()
        self.threads = set[str]()

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        self.steps.append(step)
        self.threads.add(threading.current_thread().name)
        if len(self.steps) > 1:
            self.ahead.set()
        if step == 9:
            raise DataError("step 9 cannot be read")
        self.rows.fill(step, lo, hi, box, out)


def read(source: Any, step: int, lo: int = 0, hi: int = 4) -> tuple[NDArray[Any], NDArray[Any]]:
    data, label = np.empty((hi - lo, 3)), np.empty(hi - lo, np.int32)
    source.read(step, lo, hi, data, label)
    return data, label


def test_rows_are_those_of_the_source_in_any_order_of_steps() -> None:
    plain, source = Noted(), PrefetchedRows(Noted())
    for step, lo, hi in ((0, 0, 2), (0, 2, 4), (1, 0, 2), (1, 2, 4), (5, 0, 2), (0, 0, 2), (1, 0, 2)):
        for found, expected in zip(read(source, step, lo, hi), read(plain, step, lo, hi), strict=True):
            assert np.array_equal(found, expected)


def test_the_next_step_is_read_before_it_is_asked_for() -> None:
    noted = Noted()
    source = PrefetchedRows(noted)
    read(source, 3)
    assert noted.ahead.wait(DEADLINE), "nothing was read ahead"
    assert noted.steps == [3, 4]
    read(source, 4)
    assert noted.steps[:2] == [3, 4]
    read(source, 9 - 2)
    assert noted.threads == {"prefetch_0"}, "a source is read by one thread"


def test_an_error_ahead_comes_when_its_rows_are_asked_for() -> None:
    source = PrefetchedRows(Noted())
    read(source, 8)
    with pytest.raises(DataError, match="step 9"):
        read(source, 9)


def test_the_thread_ends_with_its_owner() -> None:
    source = PrefetchedRows(Noted())
    read(source, 0)
    (thread,) = source._thread._threads
    del source
    thread.join(DEADLINE)
    assert not thread.is_alive()
