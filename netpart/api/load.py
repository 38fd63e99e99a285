"""netpart.load: the job in a file."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from netpart.proto.reader import Job, read_job


def load(path: str | PathLike[str], overrides: str | Iterable[str] = ()) -> Job:
    """Read the job in file ``path`` and apply ``overrides``: one or several, written as for ``--set``.

    ``Job.set`` changes one field more. Raises ConfigError with the position in the file, what was expected, what was
    found and the next step.
    """
    return read_job(Path(path), [overrides] if isinstance(overrides, str) else overrides)
