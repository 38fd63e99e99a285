"""Arrays as sources of a prediction: workers read files, so an array is saved for the time of a prediction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.arrays.row_array import NUMBERS
from netpart.data.remote.url_path import DataPath
from netpart.errors import ConfigError
from netpart.trained.prediction_source import parse_source

if TYPE_CHECKING:
    from netpart.proto.reader import Job

Source = str | PathLike[str] | NDArray[Any] | None
"""A file, a URL, an array (rows, *sample); None for the job's own test data."""


@contextmanager
def open_source(job: Job, source: Source) -> Iterator[DataPath | None]:
    """Yield the path of ``source``. Raises ConfigError for an array of anything but numbers, and for other types."""
    if isinstance(source, np.ndarray):
        _check_numbers(source)
        with TemporaryDirectory(prefix="netpart-") as folder:
            path = Path(folder, "input.npy")
            np.save(path, np.ascontiguousarray(source))
            yield path
    else:
        yield None if source is None else parse_source(job, _path_text(source))


def _path_text(source: Any) -> str:
    if not isinstance(source, str | PathLike):
        hint = "convert rows with numpy.asarray"
        raise ConfigError("input", "a path, a URL, a NumPy array or None", f"a {type(source).__name__}", hint)
    return fspath(source)


def _check_numbers(source: NDArray[Any]) -> None:
    if source.dtype.kind not in NUMBERS or source.ndim < 2:
        got = f"{source.dtype} of shape {source.shape}"
        raise ConfigError("input", "an array (rows, *sample) of numbers", got, "convert it, or add the axis of rows")
