"""Reads a job's configuration: protobuf text, with errors that point at file:line:column."""

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
from netpart.proto.cluster import Cluster, cluster_of
from netpart.proto.fields import message_descriptor, nearest_hint
from netpart.proto.job_pb2 import JobProto
from netpart.proto.limits import JOB
from netpart.proto.mistakes import is_extension_error, missing_fields
from netpart.proto.override import apply_overrides
from netpart.proto.phase import check_phases, in_phase
from netpart.proto.positions import field_positions
from netpart.proto.ranges import find_out_of_range
from netpart.proto.slips import collect_mistakes
from netpart.proto.worker_count import default_workers

_LONE_RETURN = re.compile("\r(?!\n)")
Located = TypeVar("Located", bound=JobError)


@dataclass(frozen=True)
class Job:
    """A job as it was read: the JobProto, and the text it stands in.

    ``path`` is None for text that came from no file. ``overridden`` has the fields that --set changed. ``workers`` are
    those of a group, as an option sets them (None: as the job asks for).
    """

    proto: JobProto
    path: Path | None
    name: str
    text: str = field(repr=False)
    overridden: Mapping[FieldPath, Position] = field(default_factory=dict, repr=False)
    workers: int | None = None

    @property
    def folder(self) -> Path:
        """The folder that relative data paths resolve against first."""
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
        """Where field ``at``, or a list or block it is in, was set by --set; else where it stands in the text."""
        prefixes = (at[:n] for n in range(1, len(at) + 1))
        set_by = next((self.overridden[prefix] for prefix in prefixes if prefix in self.overridden), None)
        return set_by or self._written.get(at)

    def explain(self, error: Located) -> Located:
        """Fills in ``position`` from ``at``, of ``error`` and of the faults found with it, and returns ``error``.

        A field that is not in the text is placed at the innermost block around it.
        """
        for fault in error.faults:
            if fault.at is not None and fault.position is None:
                prefixes = (fault.at[:n] for n in range(len(fault.at), 0, -1))
                found = (self.locate(prefix) for prefix in prefixes)
                fault.position = next(filter(None, found), Position(self.name, 1, 1))
        return error

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Lets errors that leave the block say where in this job they are."""
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
    """Reads the job in file ``path`` and applies ``overrides`` (see netpart.proto.override).

    Raises ConfigError for a file that cannot be read and everything ``read_job_text`` raises.
    """
    return _read_checked_job(decode_utf8(read_job_bytes(Path(path)), str(path)), str(path), Path(path), overrides)


def read_job_text(text: str, name: str = "<text>", overrides: Iterable[str] = ()) -> Job:
    """Reads the job in ``text``; ``name`` stands for the file in errors.

    Raises ConfigError, with its position, for text that is no JobProto, a required field that is missing, an
    override that fits nothing, a value out of its range, and layers that mix include and exclude.
    """
    return _read_checked_job(text, name, None, overrides)


def _read_checked_job(text: str, name: str, path: Path | None, overrides: Iterable[str]) -> Job:
    try:
        proto = _parse_job_proto(text)
    except text_format.ParseError:
        raise collect_mistakes(text, name) from None
    job = Job(proto, path, name, text)
    try:
        job = Job(proto, path, name, text, apply_overrides(proto, overrides))
        _check_job_proto(proto)
    except ConfigError as error:
        raise job.explain(error) from None
    return job


def _parse_job_proto(text: str) -> JobProto:
    """Reads protobuf text; extensions of other packages are registered where the text has some that are not yet.

    Raises ParseError.
    """
    try:
        return text_format.Parse(text, JobProto())
    except text_format.ParseError as error:
        if not is_extension_error(error):
            raise
        _import_layer_packages()
        return text_format.Parse(text, JobProto())


def _import_layer_packages() -> None:
    """Imports the packages that bring layer types, for these register the extensions that they read."""
    for entry in metadata.entry_points(group="netpart.layers"):
        with suppress(Exception):  # one that cannot be imported is reported where its layer is built
            entry.load()


def _check_job_proto(proto: JobProto) -> None:
    """Raises ConfigError for what the schema demands and the text parser lets pass."""
    faults = FaultList()
    faults.found += missing_fields(proto)
    faults.found += find_out_of_range(proto)
    with faults.collecting():
        check_phases(proto.neuralnet)
    faults.raise_found()


def read_job_bytes(path: Path, kind: str = "a job configuration file") -> bytes:
    """The content of ``path``, which is to be ``kind``; raises ConfigError with the nearest names in its folder."""
    try:
        return read_file(path, JOB)
    except FileNotFoundError:
        raise ConfigError(str(path), kind, "none", _nearest_file_hint(path)) from None
    except OSError as error:
        raise ConfigError(str(path), kind, os_error_text(error)) from None


def _nearest_file_hint(path: Path) -> str:
    """A hint for a file that does not exist: what does exist there."""
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return nearest_hint(path.name, sorted(p.name for p in path.parent.glob("*.conf")))


def decode_utf8(data: bytes, name: str) -> str:
    """UTF-8 text of ``data``, without a byte-order mark; raises ConfigError at the first wrong byte.

    A carriage return alone ends a line, too: of protobuf's comments it would not.
    """
    try:
        return _LONE_RETURN.sub("\n", data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        line = data.count(b"\n", 0, start) + 1
        column = len(data[start : error.start].decode()) + 1
        got = f"byte 0x{data[error.start]:02x}"
        hint = "save the file as UTF-8"
        raise ConfigError(name, "UTF-8 text", got, hint, position=Position(name, line, column)) from None


__all__ = ["Job", "in_phase", "read_job", "read_job_text"]
