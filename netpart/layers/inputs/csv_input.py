"""kCSVInput: lines of numbers and labels of a text file."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.remote.url_path import DataPath
from netpart.data.row_source import RowSource
from netpart.data.signatures import HEAD, guess_file_kind, is_text
from netpart.data.stores.csv_check import check_lines
from netpart.data.stores.csv_classes import learn_classes, read_classes
from netpart.data.stores.csv_decode import CsvColumns, csv_decoder
from netpart.data.stores.csv_fields import split_fields
from netpart.data.stores.csv_store import CsvStore
from netpart.data.stores.decode import Decode
from netpart.data.stores.record_store import RecordStore
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from netpart.files import is_url
from netpart.layers.checks import fault
from netpart.layers.inputs.csv_columns import choose_columns
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path, local_path, open_layer_store, open_store_rows, store_files
from netpart.spec import INT, Region, Shape, Spec

TRAIN = 1
BOM = "\ufeff"
"""What some programs write before the header."""
SEPARATORS = ",", ";", "\t", "|", " "
"""Separators to try for the hint of an error, if the one of the job does not fit."""


def _count_numbers(line: bytes, separator: str) -> int:
    """The number of fields of a line that are numbers."""
    return sum(is_numeric_field(field.strip(b'"')) for field in line.split(separator.encode()))


def is_numeric_field(column: bytes | str) -> bool:
    """True for text that is a number."""
    try:
        float(column)
    except ValueError:
        return False
    return True


def _first_line_fault(line: bytes, separator: str, header: bool) -> str:
    """An error text for a first line in which no field is a number; "" if the error of the decoder is more precise.

    ``header``: the job already skips the header line.
    """
    shown, other = (
        repr(line[:40].decode(errors="replace")),
        max(SEPARATORS, key=lambda each: _count_numbers(line, each)),
    )
    if _count_numbers(line, separator):
        return ""
    if _count_numbers(line, other):
        hint = f"write separator: {_quote_separator(other)} in store_conf"
        return f"expected values separated by {_quote_separator(separator)}, got {shown}; {hint}"
    if header or not any(chr(byte).isalpha() for byte in line):
        return ""
    return f"expected values, got a header, {shown}; delete it, or write header: true in store_conf"


def _require_text(store: RecordStore, line: bytes) -> None:
    """Raise DataError if ``line``, the first of a file, is no text."""
    kind, use = guess_file_kind(line) if not is_text(line[:HEAD]) and line.strip() else ("", "")
    if kind or b"\0" in line:
        use = use or "records of a kvfile are read by type: kRecordInput"
        raise DataError(f"{store.path}: expected lines of text, got {kind or 'binary data'}; {use}")


def _quote_separator(separator: str) -> str:
    """A separator as the text of a job contains it."""
    return '"{}"'.format(separator.replace("\t", "\\t"))


@final
class CSVInput(RowInput):
    """Rows are (value - mean) / std in the shape of store_conf, or a vector as long as the first line.

    The label is the first column, or each label_column: then label is (batch, labels). With target: true these columns
    are numbers to predict: target (batch, labels), of one column (batch, 1). Fields may be quoted (RFC 4180).
    """

    types: ClassVar[tuple[str, ...]] = ("kCSVInput",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf",)
    field = "store_conf"
    reads_targets: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        conf = self.conf.store_conf
        if not conf.separator:
            raise fault(self, "a separator", "an empty one", 'write separator: ","', "store_conf", "separator")
        self.labelled = conf.has_label
        if conf.target:
            self._check_target()
        data, *label = super().infer()
        if conf.target:
            return data, self.set_targets(max(1, len(conf.label_column)))
        several = (len(conf.label_column),) * (len(conf.label_column) > 1)
        return (data, *(Spec((*spec.shape, *several), INT) for spec in label))

    def _check_target(self) -> None:
        """Raise ConfigError for what target: true excludes."""
        conf = self.conf.store_conf
        if not conf.has_label:
            hint = "omit one of them"
            raise fault(self, "columns of targets", "has_label: false", hint, "store_conf", "target")
        if conf.classes_file:
            hint = "omit it, or omit target: true"
            raise fault(self, "no classes_file of targets", conf.classes_file, hint, "store_conf", "classes_file")

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region, *((region[0], *label.whole[1:]) for label in self.outputs[1:]))

    def sample(self) -> Shape:
        conf = self.conf.store_conf
        if conf.shape:
            return tuple(conf.shape)
        with self._store() as store:
            return (len(self._columns(store).values),)

    def records(self) -> int | None:
        with self._store() as store:
            return len(store)

    def check_labels(self, classes: int, ignored: int | None = None) -> None:
        found = (self._classes(TRAIN) or {}) if self.conf.store_conf.classes_file else {}
        if any(number >= classes and number != ignored for number in found.values()):
            path = self._classes_path()
            hint = "give the layer below the loss as many outputs, or correct the file"
            raise DataError(f"{path}: expected at most {classes} classes, got {len(found)}; {hint}")

    def class_names(self) -> tuple[str, ...]:
        if not self.conf.store_conf.classes_file or not self.labelled or not self._classes_path().exists():
            return ()
        return tuple(word.decode(errors="replace") for word in read_classes(self._classes_path()))

    def column_names(self) -> tuple[str, ...]:
        return self._names_of("values")

    def target_names(self) -> tuple[str, ...]:
        return self._names_of("labels")

    def _names_of(self, kind: Literal["labels", "values"]) -> tuple[str, ...]:
        """The names of the columns of one kind in the header; none without a header."""
        names = self._header()
        if not names:
            return ()
        with self._store() as store:
            return tuple(names[i] for i in getattr(self._columns(store), kind) if i < len(names))

    def data_files(self) -> Sequence[DataPath]:
        return store_files(self, "store_conf")

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        store = self._store()
        return open_store_rows(self, store, self._decoder(store, phase, dtype), self._file, batch, seed)

    def check_data(self, phase: int = 1) -> None:
        super().check_data(phase)
        if not is_url(self.conf.store_conf.path):  # of a URL only a run reads the lines
            with self._store() as store:
                check_lines(store, self._decoder(store, phase, np.float32), prod(self.output.shape[1:]))

    def _decoder(self, store: RecordStore, phase: int, dtype: DTypeLike) -> Decode:
        """The decoder of the lines of ``store``. Raises DataError if its columns do not fit."""
        shape, conf = self.output.shape[1:], self.conf.store_conf
        columns, classes = self._chosen(store, shape), self._classes(phase)
        return csv_decoder(
            shape, conf.separator, self.labelled, dtype, columns=columns, classes=classes, targets=conf.target
        )

    def _chosen(self, store: RecordStore, shape: Shape) -> CsvColumns | None:
        """The columns that store_conf names; None if it names none. Raises DataError if they do not fit ``shape``."""
        conf = self.conf.store_conf
        if not conf.label_column and not conf.skip_column:
            return None
        columns = self._columns(store)
        if len(columns.values) != prod(shape):
            hint = "correct store_conf.shape, or name other columns"
            got = f"{len(columns.values)} columns of values"
            raise DataError(f"{store.place(0)}: expected {prod(shape)} for shape {shape}, got {got}; {hint}")
        return columns

    def _columns(self, store: RecordStore) -> CsvColumns:
        """The columns of the lines, by the first of them."""
        separator = self.conf.store_conf.separator.encode()
        try:
            return choose_columns(self, len(split_fields(store.value(0), separator)), self._header())
        except DataError as error:
            raise DataError(f"{store.place(0)}: {error}") from error

    def _header(self) -> list[str]:
        """The names of the columns; none without a header."""
        conf = self.conf.store_conf
        if not conf.header:
            return []
        with open_store("textfile", data_path(self, conf.path, "store_conf", "path"), CsvStore) as store:
            _require_text(store, store.value(0))
            fields = split_fields(store.value(0), conf.separator.encode())
        return [field.decode(errors="replace").removeprefix(BOM) for field in fields]

    def _classes(self, phase: int) -> dict[bytes, int] | None:
        """The numbers of the words of classes_file; None without one. Training makes a file that is missing."""
        if not self.conf.store_conf.classes_file or not self.labelled:
            return None
        path = self._classes_path()
        if phase != TRAIN or path.exists():
            return read_classes(path)
        with self._store() as store:
            return learn_classes(store, self.conf.store_conf.separator, self._columns(store).labels, path)

    def _classes_path(self) -> Path:
        """The path of classes_file."""
        return local_path(self, self.conf.store_conf.classes_file, "store_conf", "classes_file")

    def _store(self) -> RecordStore:
        """Open the lines of the file. Raises DataError if the first line does not consist of values."""
        store = open_layer_store(self, "textfile", CsvStore)
        first = store.value(0)
        _require_text(store, first)
        if wrong := _first_line_fault(first, self.conf.store_conf.separator, self.conf.store_conf.header):
            raise DataError(f"{store.place(0)}: {wrong}")
        return store

    def _file(self, path: DataPath, purpose: str) -> Any:
        decode = csv_decoder(self.output.shape[1:], self.conf.store_conf.separator, has_label=False, dtype=np.float64)
        with open_store("textfile", path) as store:
            try:
                return decode(store.value(0))[0]
            except DataError as error:
                raise DataError(f"{store.place(0)}: {error}") from error
