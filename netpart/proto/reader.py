"""Reader of job configurations in protobuf text, with errors that point at file:line:column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from google.protobuf import text_format

from netpart.errors import ConfigError, FaultList, FieldPath, JobError, Position, os_error_text
from netpart.files import read_file
from netpart.proto.all_mistakes import collect_mistakes
from netpart.proto.cluster import Cluster, cluster_of
from netpart.proto.fields import message_descriptor, nearest_hint
from netpart.proto.job_files import JOB_ENDINGS
from netpart.proto.job_pb2 import JobProto
from netpart.proto.limits import JOB
from netpart.proto.mistakes import is_extension_error, missing_fields
from netpart.proto.override import apply_overrides
from netpart.proto.phase import check_phases, in_phase
from netpart.proto.positions import field_positions
from netpart.proto.ranges import find_out_of_range
from netpart.proto.worker_count import default_workers

_LONE_RETURN = re.compile("\r(?!\n)")  # the line end of old Macs; protobuf would not end a comment at it
Located = TypeVar("Located", bound=JobError)


@dataclass(frozen=True)
class Job:
    """A job as it was read: the JobProto and its text.

    ``path`` is None for text that is not from a file. ``overridden`` has the positions of fields that --set changed.
    ``workers`` are those of a group, as an option sets them (None: as the job asks for).
    """

    proto: JobProto
    path: Path | None
    name: str
    text: str = field(repr=False)
    overridden: Mapping[FieldPath, Position] = field(default_factory=dict, repr=False)
    workers: int | None = None

    @property
    def folder(self) -> Path:
        """The folder from which relative data paths start; the working directory is the second choice."""
        return self.path.parent if self.path else Path()

    @property
    def worker_count(self) -> int:
        """Workers of a group."""
        return default_workers(self.proto) if self.workers is None else self.workers

    @property
    def cluster(self) -> Cluster:
        """All workers and servers of a run; raises ConfigError for groups and servers that do not fit together."""
        return cluster_of(self.proto, self.worker_count)

    def locate(self, at: FieldPath) -> Position | None:
        """The position of field ``at``: the --set that set it or a list or block around it, else its place in the text.

        None if it is in neither.
        """
        prefixes = (at[:n] for n in range(1, len(at) + 1))
        set_by = next((self.overridden[prefix] for prefix in prefixes if prefix in self.overridden), None)
        return set_by or self._written.get(at)

    def explain(self, error: Located) -> Located:
        """Fill in ``position`` from ``at`` for ``error`` and the faults found with it; return ``error``.

        A field that is not in the text gets the position of the innermost block around it.
        """
        for fault in error.faults:
            if fault.at is not None and fault.position is None:
                prefixes = (fault.at[:n] for n in range(len(fault.at), 0, -1))
                found = (self.locate(prefix) for prefix in prefixes)
                fault.position = next(filter(None, found), Position(self.name, 1, 1))
        return error

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Give errors that leave the block their position in this job."""
        try:
            yield
        except JobError as error:
            self.explain(error)
            raise

    @cached_property
    def _written(self) -> dict[FieldPath, Position]:
        return field_positions(self.text, self.name, message_descriptor(JobProto))

    def __repr__(self) -> str:
        return f"Job({self.name}, {len(self.proto.neuralnet.layer)} layers)"


def read_job(path: str | Path, overrides: Iterable[str] = ()) -> Job:
    """Read the job in file ``path`` and apply ``overrides`` (see netpart.proto.override).

    Raises ConfigError for a file that cannot be read, and everything that ``read_job_text`` raises.
    """
    return _read_checked_job(decode_utf8(read_job_bytes(Path(path)), str(path)), str(path), Path(path), overrides)


def read_job_text(text: str, name: str = "<text>", overrides: Iterable[str] = ()) -> Job:
    """Read the job in ``text``; ``name`` stands for the file in errors.

    Raises ConfigError, with its position, for text that is not a JobProto, a missing required field, an override
    without a target, a value out of its range, and layers that mix include and exclude.
    """
    return _read_checked_job(text, name, None, overrides)


def parse_job(text: str, name: str = "<text>") -> JobProto:
    """Parse ``text`` without a check of what its fields say. Raises ConfigError for text that is not a JobProto."""
    # protobuf's own error is one mistake without context. The text is read again to find all of them.
    try:
        return _parse_job_proto(text)
    except text_format.ParseError:
        raise collect_mistakes(text, name) from None


def _read_checked_job(text: str, name: str, path: Path | None, overrides: Iterable[str]) -> Job:
    proto = parse_job(text, name)
    job = Job(proto, path, name, text)
    try:
        job = Job(proto, path, name, text, apply_overrides(proto, overrides))
        _check_job_proto(proto)
    except ConfigError as error:
        raise job.explain(error) from None
    return job


def _parse_job_proto(text: str) -> JobProto:
    """Parse protobuf text as a JobProto. Raises ParseError.

    If the text has an unknown extension, the packages that bring layer types are imported first: they register theirs.
    """
    try:
        return text_format.Parse(text, JobProto())
    except text_format.ParseError as error:
        if not is_extension_error(error):
            raise
        _import_layer_packages()
        return text_format.Parse(text, JobProto())


def _import_layer_packages() -> None:
    """Import the packages that bring layer types, which registers the extensions that they read."""
    for entry in metadata.entry_points(group="netpart.layers"):
        with suppress(Exception):  # a package that cannot be imported is reported when its layer is built
            entry.load()


def _check_job_proto(proto: JobProto) -> None:
    """Raise ConfigError, with all faults, for what the text parser does not check: required fields, ranges, phases."""
    faults = FaultList()
    faults.found += missing_fields(proto)
    faults.found += find_out_of_range(proto)
    with faults.collecting():
        check_phases(proto.neuralnet)
    faults.raise_found()


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


__all__ = ["Job", "in_phase", "parse_job", "read_job", "read_job_text"]
