"""Opening of a store by the name of its backend (``store_conf.backend``)."""

from __future__ import annotations

from collections.abc import Callable

from netpart.data.remote.url_path import DataPath
from netpart.data.stores.kvfile import KvStore, KvWriter
from netpart.data.stores.lmdb_store import LmdbStore
from netpart.data.stores.record_store import RecordStore
from netpart.data.stores.textfile import TextStore
from netpart.errors import DataError

BACKENDS: dict[str, Callable[[DataPath], RecordStore]] = {
    "kvfile": KvStore,
    "lmdb": LmdbStore,
    "textfile": TextStore,
}
"""Backend name -> function that opens a path; a new backend is one line here."""


def open_store(backend: str, path: DataPath, textfile: Callable[[DataPath], RecordStore] = TextStore) -> RecordStore:
    """Open the store at ``path``; a ``textfile`` by that function.

    Raises DataError if the backend is unknown or the file is missing, truncated or malformed.
    """
    if backend not in BACKENDS:
        *others, last = sorted(BACKENDS)
        raise DataError(
            f"{path}: expected backend {', '.join(others)} or {last}, got {backend!r}; set store_conf.backend"
        )
    return textfile(path) if backend == "textfile" else BACKENDS[backend](path)


__all__ = ["BACKENDS", "KvWriter", "RecordStore", "open_store"]
