"""Decoders of lines of a CSV file: from the bytes of a line to its numbers and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.stores.csv_fields import split_fields
from netpart.data.stores.decode import Decode, Label, shape_text
from netpart.errors import DataError
from netpart.spec import Shape

COLUMNS = "correct or delete the line, or check store_conf.shape and separator"
LABEL_FIRST = "the label is the first column"
NO_LABEL = "without labels, write store_conf { has_label: false }"
TARGET = "numbers to predict need target: true"
WORDS = "name a classes_file for labels that are words"
_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True)
class CsvColumns:
    """Which of the ``count`` columns of a line are labels and which are values, counted from 0."""

    count: int
    labels: tuple[int, ...]
    values: tuple[int, ...]


def _label_first(values: int, has_label: bool = True) -> CsvColumns:
    """Columns of lines ``label,v1,v2,...``, without a label if ``has_label`` is False."""
    count = values + has_label
    return CsvColumns(count, (0,) * has_label, tuple(range(has_label, count)))


def csv_decoder(
    shape: Shape, separator: str = ",", has_label: bool = True, dtype: DTypeLike = np.float32, *,
    columns: CsvColumns | None = None, classes: Mapping[bytes, int] | None = None, targets: bool = False,
) -> Decode:  # fmt: skip
    """Return the decoder of lines to floats of ``dtype`` in ``shape``.

    ``columns``: by default a label, if ``has_label``, and then the values. ``classes``: the numbers of labels that are
    words. With ``targets`` the labels are floats of ``dtype`` too.
    """
    kind = np.dtype(dtype)
    chosen = columns or _label_first(prod(shape), has_label)

    def decode(value: bytes) -> tuple[NDArray[Any], Label]:
        fields = split_fields(value, separator.encode())
        if len(fields) != chosen.count:
            raise DataError(f"expected {_columns_text(chosen, shape)}, got {len(fields)} columns; {COLUMNS}")
        values = _parse_numbers(fields, chosen, chosen.values, kind).reshape(shape)
        if targets:
            return values, _parse_numbers(fields, chosen, chosen.labels, kind)
        return values, _parse_labels(fields, chosen.labels, classes)

    return decode


def _columns_text(columns: CsvColumns, shape: Shape) -> str:
    """The columns of a line as errors expect them."""
    other = columns.count - len(columns.values) - len(columns.labels)
    labels = "a label and " if len(columns.labels) == 1 else f"{len(columns.labels)} labels and "
    skipped = f", and {other} columns to skip" if other else ""
    return f"{labels if columns.labels else ''}{len(columns.values)} values for shape {shape_text(shape)}{skipped}"


def _parse_labels(fields: Sequence[bytes], places: tuple[int, ...], classes: Mapping[bytes, int] | None) -> Label:
    """The label of a line, an array of several, or None."""
    found = [_parse_label(fields[i], i) if classes is None else _parse_word(fields[i], i, classes) for i in places]
    return np.array(found, np.int32) if len(found) > 1 else next(iter(found), None)


def _parse_word(word: bytes, i: int, classes: Mapping[bytes, int]) -> int:
    """The class of ``word``."""
    if word not in classes:
        hint = "correct it, or add a line to the classes_file and an output to the net"
        raise _column_error(i, f"one of the {len(classes)} words of the classes_file", word, hint)
    return classes[word]


def _parse_label(cell: bytes, i: int) -> int:
    try:
        label = int(cell)
    except ValueError:
        wanted = "a label, a whole number from 0"
        where = f"{LABEL_FIRST}: " if i == 0 else ""
        hint = f"{where}{_mend_hint(cell)}, or number the classes; {NO_LABEL}; {WORDS}; {TARGET}"
        raise _column_error(i, wanted, cell, hint) from None
    if label not in _INT32:
        raise _column_error(i, "a label of 32 bits", cell, f"{LABEL_FIRST}: {NO_LABEL}")
    return label


def _parse_numbers(
    fields: Sequence[bytes], columns: CsvColumns, places: Sequence[int], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """The numbers of a line at ``places`` as ``dtype``. Raises DataError for one that is not finite."""
    numbers = np.array([_parse_number(fields, i, columns) for i in places], np.float64)
    # Tested in float64, before the conversion: a number beyond the range of ``dtype`` would become infinite.
    finite = np.abs(numbers) <= np.finfo(dtype).max
    if not finite.all():
        i = places[int(np.argmin(finite))]
        raise _column_error(i, f"a finite {dtype}", fields[i], _mend_hint(fields[i]))
    return numbers.astype(dtype)


def _parse_number(fields: Sequence[bytes], i: int, columns: CsvColumns) -> float:
    try:
        return float(fields[i])
    except ValueError:
        # A word in the last column is probably the label: many data sets have it there.
        last = columns.labels == (0,) and i == len(fields) - 1 and fields[i].strip()
        hint = _mend_hint(fields[i])
        hint += f"; {LABEL_FIRST}, or name it as label_column" if last else ""
        raise _column_error(i, "a number", fields[i], hint) from None


def _mend_hint(cell: bytes) -> str:
    return f"{'correct' if cell.strip() else 'fill'} it or delete the line"


def _column_error(i: int, expected: str, cell: bytes, hint: str) -> DataError:
    """Return an error about column ``i`` of a line; its text counts columns from 1."""
    return DataError(f"column {i + 1}: expected {expected}, got {_quote_cell(cell)}; {hint}")


def _quote_cell(column: bytes) -> str:
    return repr(column[:40].decode(errors="replace"))
