"""Rows of arrays in any order, with their labels; what does not fit is named with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.arrays.array_file import open_array
from netpart.data.arrays.array_rows import (
    ArrayRows,
    check_labels_below,
    consecutive_runs,
    label_shape,
    read_labels,
    require_labels_fit,
)
from netpart.data.arrays.row_array import RowArray, scan_blocks
from netpart.data.record_order import RecordOrder
from netpart.data.row_scaling import RowScaling
from netpart.errors import DataError

X = np.random.default_rng(1).normal(size=(7, 3, 2))


def array(folder: Path, x: Any, name: str = "x.npy") -> RowArray:
    np.save(folder / name, x)
    return open_array(folder / name)


def rows(folder: Path, x: Any, y: Any = None, order: list[int] | None = None, **scaling: Any) -> ArrayRows:
    data = array(folder, x)
    label = None if y is None else array(folder, y, "y.npy")
    count = len(data)
    permutation = None if order is None else lambda epoch: np.array(order)
    return ArrayRows(data, label, RecordOrder(count, 4, 0, permutation), RowScaling(folder, data.shape[1:], **scaling))


@given(st.lists(st.integers(0, 9), max_size=12))
def test_runs_make_the_records(records: list[int]) -> None:
    found = list(consecutive_runs(np.array(records, np.int64)))
    assert [first + i for _, first, count in found for i in range(count)] == records
    assert [at for at, _, _ in found] == np.cumsum([0, *(count for *_, count in found)])[:-1].tolist()


@given(st.integers(1, 1 << 40), st.integers(1, 1 << 22))
def test_the_blocks_to_check_are_bounded(count: int, elements: int) -> None:
    blocks = list(scan_blocks(count, elements))
    assert blocks[0][0] == 0
    assert sum(hi - lo for lo, hi in blocks) * elements <= 2 * max(1 << 28, elements)
    assert sum(hi - lo for lo, hi in blocks) == count or count * elements > 1 << 28


@pytest.mark.parametrize("order", [None, [6, 5, 0, 1, 2, 4, 3]])
def test_boxes_of_rows_in_any_order(order: list[int] | None, tmp_path: Path) -> None:
    source = rows(tmp_path, X, np.arange(7), order, mean=0.5, std=2.0)
    numbers = (np.array(order or range(7)))[[4, 5, 6, 0]]
    data, label = np.empty((4, 2, 2)), np.empty(4, np.int32)
    source.read(1, 0, 4, data, label, ((1, 3), (0, 2)))
    assert np.array_equal(data, (X[numbers, 1:3] - 0.5) / 2)
    assert np.array_equal(label, numbers)


def test_numbers_are_kept_in_float64(tmp_path: Path) -> None:
    data = np.empty((4, 3, 2))
    rows(tmp_path, X).read(0, 0, 4, data, None)
    assert np.array_equal(data, X[:4])


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (1e39, r"1e\+39")])
def test_a_number_that_does_not_fit_is_named(value: float, shown: str, tmp_path: Path) -> None:
    x = X.copy()
    x[2, 1, 0] = value
    data = np.empty((4, 3, 2), np.float32)
    with pytest.raises(DataError, match=rf"x\.npy: row 2, element \[1, 0\]: expected a finite float32, got {shown}"):
        rows(tmp_path, x).read(0, 0, 4, data, None)


@pytest.mark.parametrize(("shape", "places"), [((7,), ()), ((7, 3), (3,)), ((7, 4, 5), (20,)), ((7, 1), (1,))])
def test_labels_of_a_row(shape: tuple[int, ...], places: tuple[int, ...], tmp_path: Path) -> None:
    y = np.random.default_rng(2).integers(0, 9, shape)
    label = array(tmp_path, y)
    assert label_shape(label) == places
    assert np.array_equal(read_labels(label, np.arange(2, 5)), y[2:5].reshape(3, *places))


@pytest.mark.parametrize(("value", "dtype"), [(5, "i8"), (-1, "i8"), (2**40, "i8"), (2**63, "u8"), (200, "u1")])
def test_a_label_that_is_no_class_is_named(value: int, dtype: str, tmp_path: Path) -> None:
    y = np.zeros(7, dtype)
    y[3] = value
    with pytest.raises(DataError, match=rf"x\.npy: row 3: expected a label from 0 to 4, got {value}"):
        check_labels_below(array(tmp_path, y), 5)


def test_labels_must_fit_the_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected labels of 7 rows, as .* has, got 6"):
        require_labels_fit(array(tmp_path, X), array(tmp_path, np.arange(6), "y.npy"))
    with pytest.raises(DataError, match="expected labels that are whole numbers, got float64"):
        require_labels_fit(array(tmp_path, X), array(tmp_path, np.zeros(7), "y.npy"))
    with pytest.raises(DataError, match="row 1: expected a label from -2147483648 to 2147483647"):
        read_labels(array(tmp_path, np.array([0, 2**40])), np.arange(2))
