"""kCSVInput: lines ``label,v1,v2,...`` of a text file."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.remote.url_path import DataPath
from netpart.data.row_source import RowSource
from netpart.data.signatures import HEAD, guess_file_kind, is_text
from netpart.data.stores.decode import csv_decoder
from netpart.data.stores.record_store import RecordStore
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from netpart.layers.checks import fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import open_layer_store, open_store_rows
from netpart.spec import Shape, Spec

SEPARATORS = ",", ";", "\t", "|", " "
"""Separators to try for the hint of an error, if the one of the job does not fit."""


def _count_numbers(line: bytes, separator: str) -> int:
    """The number of fields of a line that are numbers."""
    return sum(map(_is_numeric_field, line.split(separator.encode())))


def _is_numeric_field(column: bytes) -> bool:
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


def _quote_separator(separator: str) -> str:
    """A separator as the text of a job contains it."""
    return '"{}"'.format(separator.replace("\t", "\\t"))


@final
class CSVInput(RowInput):
    """Rows are (value - mean) / std in the shape of store_conf, or a vector as long as the first line."""

    types: ClassVar[tuple[str, ...]] = ("kCSVInput",)
    confs: ClassVar[tuple[str, ...]] = ("store_conf",)
    field = "store_conf"

    def infer(self) -> tuple[Spec, ...]:
        if not self.conf.store_conf.separator:
            raise fault(self, "a separator", "an empty one", 'write separator: ","', "store_conf", "separator")
        self.labelled = self.conf.store_conf.has_label
        return super().infer()

    def sample(self) -> Shape:
        conf = self.conf.store_conf
        if conf.shape:
            return tuple(conf.shape)
        with self._store() as store:
            return (len(store.value(0).split(conf.separator.encode())) - self.labelled,)

    def records(self) -> int | None:
        with self._store() as store:
            return len(store)

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        decode = csv_decoder(self.output.shape[1:], self.conf.store_conf.separator, self.labelled, dtype)
        return open_store_rows(self, self._store(), decode, self._file, batch, seed)

    def _store(self) -> RecordStore:
        """Open the lines of the file. Raises DataError if the first line does not consist of values."""
        store = open_layer_store(self, "textfile")
        first = store.value(0)
        kind, use = guess_file_kind(first) if not is_text(first[:HEAD]) and first.strip() else ("", "")
        if kind or b"\0" in first:
            use = use or "records of a kvfile are read by type: kRecordInput"
            raise DataError(f"{store.path}: expected lines of text, got {kind or 'binary data'}; {use}")
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
