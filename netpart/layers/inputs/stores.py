"""Reading of store_conf for input layers: the path, the backend, the order of the rows and their scaling."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.data.remote.url_path import DataPath, UrlPath, parse_url, refuse_misspelt_url, url_settings
from netpart.data.stores.decode import Decode
from netpart.data.stores.lmdb_store import DATA as LMDB_FILE
from netpart.data.stores.rows import RowReader
from netpart.data.stores.store import open_store
from netpart.data.stores.textfile import TextStore
from netpart.errors import DataError
from netpart.files import is_url
from netpart.kernels import philox
from netpart.layers.checks import at_least, fault
from netpart.layers.layer import Layer

if TYPE_CHECKING:
    from netpart.data.stores.record_store import RecordStore

ReadFile = Callable[[DataPath, str], Any]
"""(path, purpose "mean" or "std") -> array of the shape of a row."""


def data_path(layer: Layer, path: str, *at: str) -> DataPath:
    """Resolve ``path``: a URL, or in the folder of the conf or, if only that exists, in the working directory.

    Raises ConfigError, at the field ``at``, if it is empty, DataError for a URL that cannot be used.
    """
    if not path:
        raise fault(layer, "the path of its data", "none", f'write {at[-1]}: "..." in {at[0]}', *at)
    if is_url(path):
        return _parse_data_url(layer, path, at)
    # If neither exists, the path in the folder is returned: it is the better name for the error of the reader.
    in_folder = layer.folder / path
    if in_folder.exists() or not Path(path).exists():
        _refuse_misspelt_url(in_folder, path, at)
        return in_folder
    return Path(path)


def store_files(layer: Layer, field: str) -> tuple[DataPath]:
    """The file of the store that ``path`` in the conf ``field`` names."""
    path = data_path(layer, getattr(layer.conf, field).path, field, "path")
    return (path / LMDB_FILE if path.is_dir() else path,)


def local_path(layer: Layer, path: str, *at: str) -> Path:
    """``data_path`` of what has to be on this machine. Raises ConfigError, at the field ``at``, for a URL."""
    found = data_path(layer, path, *at)
    if isinstance(found, Path):
        return found
    raise fault(layer, "a path on this machine", str(found), "copy it here first", *at)


def _refuse_misspelt_url(in_folder: Path, path: str, at: tuple[str, ...]) -> None:
    """Raise DataError at the field ``at`` for what looks like a URL and is no file."""
    try:
        if not in_folder.exists():
            refuse_misspelt_url(path)
    except DataError as error:
        error.at = at
        raise


def _parse_data_url(layer: Layer, path: str, at: tuple[str, ...]) -> UrlPath:
    try:
        return parse_url(path, url_settings(layer.data_cache))
    except DataError as error:
        error.at = at
        raise


def open_layer_store(
    layer: Layer, backend: str, textfile: Callable[[DataPath], RecordStore] = TextStore
) -> RecordStore:
    """Open the store of store_conf; ``backend`` is the default of its backend, ``textfile`` opens a text file.

    Raises ConfigError or DataError.
    """
    conf = layer.conf.store_conf
    if conf.encoded:
        raise fault(layer, "plain records", "encoded: true", "store decoded images", "store_conf", "encoded")
    store = open_store(conf.backend or backend, data_path(layer, conf.path, "store_conf", "path"), textfile)
    if conf.header and (conf.backend or backend) != "textfile":
        raise fault(layer, "header: true of a textfile", conf.backend or backend, "omit it", "store_conf", "header")
    if conf.header:
        store.skip(1)
    return store


def draw_skip(layer: Layer, most: int, seed: int) -> int:
    """The number of records to skip before the first step: drawn once from 0..``most``, the same for every cut."""
    return philox.draw_integer(philox.stream_key(seed, layer.name, "random_skip"), 0, 0, 0, 0, most + 1)


def open_store_rows(
    layer: Layer, store: RecordStore, decode: Decode, read_file: ReadFile, batch: int, seed: int
) -> RowReader:
    """Return a reader of the rows of a store, skipped, shuffled and scaled by the options of store_conf."""
    conf = layer.conf.store_conf
    order = philox.stream_key(seed, layer.name, "shuffle")
    at_least(layer, 0, conf.random_skip, "store_conf", "random_skip")
    return RowReader(
        store,
        decode,
        batch=batch,
        skip=draw_skip(layer, conf.random_skip, seed),
        shuffle_key=(lambda epoch: philox.draw_permutation(order, epoch, len(store))) if conf.shuffle else None,
        mean=_read_scaling(layer, "mean", conf.mean_value, read_file),
        std=_read_scaling(layer, "std", conf.std_value if conf.HasField("std_value") else 1.0, read_file),
    )


def _read_scaling(layer: Layer, purpose: str, value: float, read_file: ReadFile) -> Any:
    at = "store_conf", f"{purpose}_file"
    path = getattr(layer.conf.store_conf, at[-1])
    if path:
        try:
            return read_file(data_path(layer, path, *at), purpose)
        except DataError as error:
            error.at = at  # the field of the job, so that the error shows its line
            raise
    if purpose == "std" and value <= 0:
        raise fault(layer, "a positive std_value", f"{value:g}", "omit it", "store_conf", "std_value")
    return value
