"""Classes of labels that are words: a text file of the words, one per line; the first is class 0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netpart.data.atomic_file import atomic_file
from netpart.data.stores.csv_fields import split_fields
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError, MissingData, os_error_text
from netpart.files import read_file

MOST = 1 << 20
"""Largest number of classes. A column with more words is hardly one of labels."""


def read_classes(path: Path) -> dict[bytes, int]:
    """Read a file of classes. Raises DataError if it is unreadable or empty, or has a word twice; MissingData if it is
    missing."""
    try:
        words = read_file(path).splitlines()
    except FileNotFoundError:
        hint = "train first, or check the job with its training data: that makes it"
        raise MissingData(f"{path}: expected the classes, a word per line, got nothing there; {hint}") from None
    except OSError as error:
        got = os_error_text(error)
        raise DataError(f"{path}: expected the classes, a word per line, got {got}; correct classes_file") from error
    classes = {word: i for i, word in enumerate(words)}
    if not words or len(classes) < len(words):
        got = f"{len(words)} lines with {len(classes)} words"
        raise DataError(f"{path}: expected different words, one per line, got {got}; correct the file")
    return classes


def learn_classes(store: RecordStore, separator: str, columns: Sequence[int], path: Path) -> dict[bytes, int]:
    """The words in ``columns`` of all lines of ``store``, sorted; write them to ``path``. Raises DataError."""
    words = set[bytes]()
    for record in range(len(store)):
        words.update(_read_words(store, record, separator, columns))
        if len(words) > MOST:
            raise DataError(f"{store.path}: expected at most {MOST} classes, got more; correct label_column")
    found = sorted(words)
    try:
        with atomic_file(path) as file:
            file.write(b"".join(word + b"\n" for word in found))
    except OSError as error:
        raise DataError(f"{path}: expected room for the classes, got {os_error_text(error)}; name another") from error
    return {word: i for i, word in enumerate(found)}


def _read_words(store: RecordStore, record: int, separator: str, columns: Sequence[int]) -> list[bytes]:
    """The words of one line. Raises DataError for a line without one of the columns, and for a label of several."""
    try:
        fields = split_fields(store.value(record), separator.encode())
    except DataError as error:
        raise DataError(f"{store.place(record)}: {error}") from error
    if len(fields) <= max(columns):
        got = f"{len(fields)} columns"
        raise DataError(f"{store.place(record)}: expected a label in column {max(columns) + 1}, got {got}; correct it")
    words = [fields[i] for i in columns]
    if not all(word.strip() and len(word.splitlines()) == 1 for word in words):
        got = repr(words)[:80]
        raise DataError(f"{store.place(record)}: expected a word on one line as label, got {got}; correct it")
    return words
