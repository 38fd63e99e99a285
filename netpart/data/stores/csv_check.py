"""Check of the lines of a CSV file before a run."""

from __future__ import annotations

from netpart.data.stores.decode import Decode
from netpart.data.stores.record_store import RecordStore
from netpart.errors import DataError

FIELDS = 1 << 20
"""Number of values that are read; of larger files lines at even distances. That takes about half a second."""


def check_lines(store: RecordStore, decode: Decode, columns: int) -> None:
    """Raise DataError, with its place, for the first line that ``decode`` refuses; lines have ``columns`` values."""
    for record in range(0, len(store), -(-len(store) * max(1, columns) // FIELDS)):
        try:
            decode(store.value(record))
        except DataError as error:
            raise DataError(f"{store.place(record)}: {error}") from error
