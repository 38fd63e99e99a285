"""CSV files as sources of a prediction: labels are not read, and their columns may be absent."""

from __future__ import annotations

from typing import NamedTuple

from netpart.data.remote.url_path import DataPath
from netpart.data.stores.csv_fields import split_fields
from netpart.data.stores.csv_store import CsvStore
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from netpart.layers.inputs.csv_input import BOM, is_numeric_field
from netpart.proto.job_pb2 import StoreProto

LABELLING = "label_column", "classes_file", "target"
"""Fields of a store_conf that only labels need."""


class _CsvHead(NamedTuple):
    """The number of columns of a CSV file, and their names if it has a header."""

    columns: int
    names: list[str]


def omit_labels(conf: StoreProto, source: DataPath, values: int | None) -> None:
    """Let ``conf`` read from ``source`` what the net reads, and no label.

    A column of labels is skipped if the file has it. Columns to skip that are named, and that the file does not have,
    are omitted. ``values`` is the number of columns with values, if it is known: without a header, or for columns that
    are given by numbers, it decides whether the columns of labels are there. Raises DataError for a file without the
    header that ``conf`` says it has.
    """
    head = _read_head(conf, source)
    if head is not None:
        _require_header(conf, head, source)
        kept = [name for name in conf.skip_column if name.isdecimal() or name in head.names]
        labels = _label_names(conf, head, kept)
        skipped = [*kept, *_present_labels(labels, head, len(kept), values)]
        conf.skip_column[:] = _shifted_columns(labels, head, skipped)
    for name in LABELLING:
        conf.ClearField(name)
    conf.has_label = False


def _read_head(conf: StoreProto, source: DataPath) -> _CsvHead | None:
    """The columns of the file, by its first line; None for a file that its reader refuses, which says why."""
    try:
        with open_store(conf.backend or "textfile", source, CsvStore) as store:
            fields = split_fields(store.value(0), conf.separator.encode())
    except DataError:
        return None
    names = [field.decode(errors="replace").removeprefix(BOM) for field in fields] if conf.header else []
    return _CsvHead(len(fields), names)


def _require_header(conf: StoreProto, head: _CsvHead, source: DataPath) -> None:
    """Raise DataError for a header of numbers alone, in which no column is found: it is a line of values."""
    wanted = [name for name in (*conf.label_column, *conf.skip_column) if not name.isdecimal()]
    if wanted and not {*wanted} & {*head.names} and conf.header and all(map(is_numeric_field, head.names)):
        hint = "write the names of the columns in the first line"
        raise DataError(f"{source}:1: expected a header, as header: true of the job says, got values; {hint}")


def _label_names(conf: StoreProto, head: _CsvHead, skipped: list[str]) -> list[str]:
    """The columns of labels as the job gives them, by names and numbers; by default the first that is not skipped."""
    if not conf.has_label or conf.label_column:
        return [*conf.label_column]
    taken = {_column_index(head, name) for name in skipped}
    return [str(1 + next(i for i in range(head.columns + 1) if i not in taken))]


def _column_index(head: _CsvHead, name: str) -> int:
    """The column, from 0, that a job gives by its name or its number; -1 if the file does not have it."""
    if head.names.count(name) == 1:
        return head.names.index(name)
    return int(name) - 1 if name.isdecimal() and 1 <= int(name) <= head.columns else -1


def _present_labels(labels: list[str], head: _CsvHead, skipped: int, values: int | None) -> list[str]:
    """Those columns of ``labels`` that the file has, of which ``skipped`` other columns are not read."""
    named = [name for name in labels if name in head.names]
    numbered = [name for name in labels if name not in head.names and name.isdecimal()]
    absent = values is not None and head.columns - skipped - len(named) == values
    return named if absent else [*named, *(name for name in numbered if _column_index(head, name) >= 0)]


def _shifted_columns(labels: list[str], head: _CsvHead, skipped: list[str]) -> list[str]:
    """``skipped`` for a file without those ``labels`` that are not in it: numbers of a job count those columns too."""
    gone = [int(name) for name in labels if name not in skipped and name not in head.names and name.isdecimal()]
    return [name if name in head.names else _shift_number(name, gone) for name in skipped]


def _shift_number(name: str, gone: list[int]) -> str:
    """The number of a column after those of ``gone`` are taken out."""
    return str(int(name) - sum(number < int(name) for number in gone))
