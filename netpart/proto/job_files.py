"""Files that hold jobs: the endings of their names, their bytes, and the text in them."""

from __future__ import annotations

import re
from pathlib import Path

from netpart.errors import ConfigError, Position, os_error_text
from netpart.files import read_file
from netpart.proto.fields import nearest_hint
from netpart.proto.limits import JOB

JOB_ENDINGS = (".conf", ".textproto", ".pbtxt")
"""A job that is named may have any ending; in folders and hints these are jobs."""
_LONE_RETURN = re.compile("\r(?!\n)")  # the line end of old Macs; protobuf would not end a comment at it


def jobs_below(folder: Path) -> list[Path]:
    """The jobs in ``folder`` and all folders below it, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix in JOB_ENDINGS and path.is_file())


def without_job_ending(name: str) -> str:
    """``name`` without the ending of a job."""
    return next((name.removesuffix(ending) for ending in JOB_ENDINGS if name.endswith(ending)), name)


def read_job_bytes(path: Path, kind: str = "a job configuration file") -> bytes:
    """Read the file ``path``; ``kind`` names it in errors. Raises ConfigError with the nearest names in its folder."""
    try:
        return read_file(path, JOB)
    except FileNotFoundError:
        raise ConfigError(str(path), kind, "none", _nearest_file_hint(path)) from None
    except OSError as error:
        raise ConfigError(str(path), kind, os_error_text(error), "name a readable file") from None


def _nearest_file_hint(path: Path) -> str:
    """A hint for a file that does not exist: a missing folder, or the nearest names of its jobs."""
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return nearest_hint(path.name, sorted(p.name for p in path.parent.iterdir() if p.suffix in JOB_ENDINGS))


def decode_utf8(data: bytes, name: str) -> str:
    """Decode ``data`` as UTF-8 and remove a byte-order mark. Raises ConfigError at the first wrong byte.

    A carriage return alone becomes a line feed, so that it ends comments too.
    """
    try:
        return _LONE_RETURN.sub("\n", data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        line = data.count(b"\n", 0, start) + 1
        column = len(data[start : error.start].decode()) + 1  # in characters; the bytes before the wrong one are valid
        got = f"byte 0x{data[error.start]:02x}"
        hint = "save the file as UTF-8"
        raise ConfigError(name, "UTF-8 text", got, hint, position=Position(name, line, column)) from None
