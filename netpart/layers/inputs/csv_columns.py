"""Columns of a CSV file by the names and numbers that store_conf gives them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from netpart.data.stores.csv_decode import CsvColumns
from netpart.errors import DataError
from netpart.layers.checks import fault
from netpart.layers.layer import Layer

FIELD = "store_conf"


def choose_columns(layer: Layer, count: int, names: Sequence[str]) -> CsvColumns:
    """The columns of lines with ``count`` fields; ``names`` is the header, or empty.

    Raises ConfigError for a column that the file does not have, or that is named twice, DataError if no value is left.
    """
    conf = layer.conf.store_conf
    if conf.label_column and not conf.has_label:
        raise fault(layer, "no label_column", "has_label: false", "omit one of them", FIELD, "label_column")
    labels = [_find_column(layer, "label_column", i, count, names) for i in range(len(conf.label_column))]
    skipped = [_find_column(layer, "skip_column", i, count, names) for i in range(len(conf.skip_column))]
    labels = labels or [next(i for i in range(count + 1) if i not in skipped)] * conf.has_label
    taken = [*labels, *skipped]
    values = tuple(i for i in range(count) if i not in taken)
    if len(set(taken)) < len(taken):
        raise fault(layer, "each column once", f"{len(taken)} names of {len(set(taken))}", "omit one", FIELD)
    if not values:
        hint = "add one, or correct store_conf.separator and skip_column"
        raise DataError(f"expected a column of values, got {count} columns without; {hint}")
    return CsvColumns(count, tuple(labels), values)


def _find_column(layer: Layer, field: str, i: int, count: int, names: Sequence[str]) -> int:
    """The column, from 0, that entry ``i`` of ``field`` gives by its name or its number, which counts from 1."""
    name = getattr(layer.conf.store_conf, field)[i]
    if names.count(name) == 1:
        return names.index(name)
    if name.isdecimal() and 1 <= int(name) <= count:
        return int(name) - 1
    # Quoted: a name may have commas and spaces.
    known = ", ".join(map(repr, names[:20]))
    expected = f"a column of the file: 1 to {count}, or one of {known}" if names else f"a number from 1 to {count}"
    raise fault(layer, expected, repr(name), _name_hint(name, names), FIELD, field, i)


def _name_hint(name: str, names: Sequence[str]) -> str:
    """The next step for a ``name`` that is not among ``names``."""
    if not names:
        return "no names without header: true"
    plain = {each.strip().casefold(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.strip().casefold(), plain, 1, 0.8)
    return f"did you mean {plain[near[0]]!r}?" if near else ""
