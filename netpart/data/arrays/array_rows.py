"""ArrayRows: the rows of an array, with labels of another array."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.arrays.row_array import RowArray, scan_blocks
from netpart.data.record_order import RecordOrder
from netpart.data.row_scaling import RowScaling
from netpart.data.row_source import RowOutputs, RowSource
from netpart.errors import DataError
from netpart.spec import Region, Shape

LABEL_KINDS = "biu"
"""Kinds of dtypes of labels: whole numbers."""
FINITE = 1 << 24
"""Largest number of elements that are searched for NaN before a run: 64 MiB of float32, a fraction of a second."""
INT32 = np.iinfo(np.int32)


class ArrayRows(RowSource):
    """Row r of a step is the row of ``data`` that ``order`` gives, in ``shape`` and scaled; its labels are that row of
    ``label``. Without ``scaling`` they are tokens: whole numbers, which fill int32.

    With ``targets`` the labels are numbers of any kind, on one axis.
    Raises DataError for an element or target that is not a finite number of the dtype to fill, and for a token or a
    label beyond
    32 bits.
    """

    def __init__(
        self, data: RowArray, label: RowArray | None, order: RecordOrder, scaling: RowScaling | None,
        shape: Shape | None = None, targets: bool = False,
    ) -> None:  # fmt: skip
        self.shape: Shape = data.shape[1:] if shape is None else shape
        self._data = data
        self._label = label
        self._order = order
        self._scaling = scaling
        self._targets = targets

    def labels(self, box: Region) -> Shape:
        if self._label is None:
            return ()
        return (_count_targets(self._label),) if self._targets else label_shape(self._label)

    def fill(self, step: int, lo: int, hi: int, box: Region, out: RowOutputs) -> None:
        records = self._order.records(step, lo, hi)
        if out.data is not None:
            self._fill_data(records, tuple(slice(*ends) for ends in box), out.data)
        if out.label is None or self._label is None:
            return
        if self._targets:
            _fill_targets(self._label, records, out.label)
        else:
            out.label[...] = read_labels(self._label, records)

    def _fill_data(self, records: NDArray[np.int64], crop: tuple[slice, ...], out: NDArray[Any]) -> None:
        values = _gather_rows(self._data, records).reshape(len(out), *self.shape)[(slice(None), *crop)]
        if self._scaling is None:
            _require_tokens(self._data.place, records, values)
            out[...] = values
            return
        # A number that is too large for the dtype becomes infinite, which is an error here and no warning of NumPy's.
        with np.errstate(over="ignore", invalid="ignore"):
            self._scaling.apply(values, crop, out)
        if self._data.dtype.kind == "f":
            _require_finite(self._data.place, records, values, out)


def _gather_rows(array: RowArray, records: NDArray[np.int64]) -> NDArray[Any]:
    """The rows ``records`` of ``array``, read-only. Consecutive ones are read at once."""
    runs = list(consecutive_runs(records))
    if len(runs) == 1:
        return array.rows(runs[0][1], runs[0][1] + len(records))
    values = np.empty((len(records), *array.shape[1:]), array.dtype)
    for at, first, count in runs:
        values[at : at + count] = array.rows(first, first + count)
    return values


def _fill_targets(target: RowArray, records: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Write the targets of the rows ``records`` to ``out`` (records, targets), in its dtype. Raises DataError for one
    that is not a finite number of that dtype."""
    values = _gather_rows(target, records).reshape(out.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        np.copyto(out, values, casting="unsafe")
    _require_finite(target.place, records, values, out)


def _count_targets(target: RowArray) -> int:
    """The number of targets of one row."""
    return prod(target.shape[1:])


def label_shape(label: RowArray) -> Shape:
    """The shape of the labels of one row: () for one, (labels,) for several, (places,) for one per place."""
    return (prod(label.shape[1:]),) if len(label.shape) > 1 else ()


def read_labels(
    label: RowArray, records: NDArray[np.int64], classes: int | None = None, ignored: int | None = None
) -> NDArray[np.int32]:
    """The labels of the rows ``records``: (records, *label_shape) int32.

    Raises DataError for one that is neither below ``classes`` nor ``ignored``, or needs more than 32 bits.
    """
    values = _gather_rows(label, records)
    low, most = (INT32.min, INT32.max) if classes is None else (0, classes - 1)
    wrong = (values < low) | (values > most)
    if ignored is not None:
        wrong &= values != ignored
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        hint = "give the layer below the loss as many outputs as there are classes" if classes else "use 32 bits"
        raise DataError(
            f"{label.place}: row {records[place[0]]}: expected a label from {low} to {most}, got {values[place]}; "
            f"correct it, or {hint}"
        )
    return values.astype(np.int32).reshape(len(records), *label_shape(label))


def check_labels_below(label: RowArray, classes: int, ignored: int | None = None) -> None:
    """Raise DataError for a label that is neither from 0 to ``classes`` − 1 nor ``ignored``. Of very many labels some
    blocks are read."""
    for lo, hi in scan_blocks(len(label), prod(label.shape[1:])):
        read_labels(label, np.arange(lo, hi), classes, ignored)


def check_finite(data: RowArray) -> None:
    """Raise DataError for an element that is not a finite number. Of more than FINITE elements blocks at even distances
    are read."""
    if data.dtype.kind == "f":
        for lo, hi in scan_blocks(len(data), prod(data.shape[1:]), FINITE):
            values = data.rows(lo, hi)
            _require_finite(data.place, np.arange(lo, hi), values, values)


def require_labels_fit(data: RowArray, label: RowArray, targets: bool = False) -> None:
    """Raise DataError unless ``label`` has whole numbers, or any as ``targets``, and as many rows as ``data``."""
    if label.dtype.kind not in LABEL_KINDS and not targets:
        hint = "save y.astype('int32'), or write target: true to predict numbers"
        raise DataError(f"{label.place}: expected labels that are whole numbers, got {label.dtype}; {hint}")
    if len(label) != len(data):
        wanted = f"labels of {len(data)} rows, as {data.place} has"
        raise DataError(f"{label.place}: expected {wanted}, got {len(label)}; save both arrays anew")


def check_tokens_below(data: RowArray, vocabulary: int) -> None:
    """Raise DataError for a token that is not from 0 to ``vocabulary`` − 1. Of very many tokens some blocks are
    read."""
    for lo, hi in scan_blocks(len(data), prod(data.shape[1:])):
        _require_tokens(data.place, np.arange(lo, hi), data.rows(lo, hi), 0, vocabulary - 1)


def _require_tokens(
    place: str, records: NDArray[np.int64], values: NDArray[Any], low: int = INT32.min, most: int = INT32.max
) -> None:
    """Raise DataError for an element of ``values``, the rows ``records``, that is not from ``low`` to ``most``."""
    wrong = (values < low) | (values > most)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"row {records[at[0]]}, element {list(at[1:])}"
        hint = "use 32 bits" if low < 0 else "set vocab_size of the embedding to the tokenizer's, or correct the array"
        raise DataError(f"{place}: {where}: expected a token from {low} to {most}, got {values[at]}; {hint}")


def require_whole_numbers(data: RowArray) -> None:
    """Raise DataError unless ``data`` has whole numbers."""
    if data.dtype.kind not in LABEL_KINDS:
        hint = "save x.astype('int32'), or omit array_conf.tokens"
        raise DataError(f"{data.place}: expected tokens, which are whole numbers, got {data.dtype}; {hint}")


def consecutive_runs(records: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield (index of the first, its record, number of records) of every run of consecutive record numbers."""
    ends = [*(np.flatnonzero(np.diff(records) != 1) + 1).tolist(), len(records)]
    start = 0
    for end in ends if len(records) else []:
        yield start, int(records[start]), end - start
        start = end


def _require_finite(place: str, records: NDArray[np.int64], values: NDArray[Any], out: NDArray[Any]) -> None:
    """Raise DataError for an element of ``out`` that is not finite; ``values`` are the elements of the rows ``records``
    as the file has them."""
    wrong = ~np.isfinite(out)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"row {records[at[0]]}, element {list(at[1:])}"
        raise DataError(f"{place}: {where}: expected a finite {out.dtype}, got {values[at]}; correct the array")
