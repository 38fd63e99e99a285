"""Reader of job configurations in protobuf text, with errors that point at file:line:column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from netpart.errors import ConfigError, FaultList, FieldPath, JobError, Position
from netpart.proto.blocks.expansion import Expansion, expand_blocks
from netpart.proto.blocks.joined_faults import join_instances
from netpart.proto.blocks.source import read_job_source
from netpart.proto.cluster import Cluster, cluster_of
from netpart.proto.fields import message_descriptor
from netpart.proto.job_files import decode_utf8, read_job_bytes
from netpart.proto.job_pb2 import JobProto
from netpart.proto.mistakes import missing_fields
from netpart.proto.override import apply_overrides
from netpart.proto.phase import check_phases, in_phase
from netpart.proto.positions import field_positions
from netpart.proto.ranges import find_out_of_range
from netpart.proto.setting import Setting, setting_text
from netpart.proto.worker_count import default_workers

Located = TypeVar("Located", bound=JobError)


@dataclass(frozen=True)
class Job:
    """A job as it was read: the JobProto and its text.

    ``path`` is None for text that is not from a file. ``overridden`` has the positions of fields that --set changed.
    ``workers`` are those of a group, as an option sets them (None: as the job asks for). ``expansion`` has where each
    layer is written, None for a job without blocks; ``proto`` has all blocks written out.
    """

    proto: JobProto
    path: Path | None
    name: str
    text: str = field(repr=False)
    overridden: Mapping[FieldPath, Position] = field(default_factory=dict, repr=False)
    workers: int | None = None
    expansion: Expansion | None = field(default=None, repr=False)

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
        return set_by or (self.expansion.locate(at) if self.expansion else self._written.get(at))

    def blocks_around(self, at: FieldPath) -> tuple[str, ...]:
        """The names of the blocks and instances around the layer at ``at``, outermost first; () if it is in none."""
        origins = self.expansion.origins if self.expansion else ()
        number = int(at[2])
        return origins[number].within if number < len(origins) else ()

    def explain(self, error: Located) -> Located:
        """Fill in ``position`` from ``at`` for ``error`` and the faults found with it; return ``error``.

        A field that is not in the text gets the position of the innermost block around it.
        """
        for fault in error.faults:
            if fault.at is not None and fault.position is None:
                prefixes = (fault.at[:n] for n in range(len(fault.at), 0, -1))
                found = (self.locate(prefix) for prefix in prefixes)
                fault.position = next(filter(None, found), Position(self.name, 1, 1))
        join_instances(error)
        return error

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Give errors that leave the block their position in this job."""
        try:
            yield
        except JobError as error:
            self.explain(error)
            raise

    def set(self, path: str, value: Setting) -> Job:
        """A copy of this job with the field ``path``, written as for ``--set``, set to ``value``; None unsets it.

        Raises ConfigError as ``--set`` does, and TypeError for a value that no field has.
        """
        proto = JobProto()
        proto.CopyFrom(self.proto)
        return _override_fields(replace(self, proto=proto), [setting_text(path, value)])

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


def _read_checked_job(text: str, name: str, path: Path | None, overrides: Iterable[str]) -> Job:
    source = read_job_source(text, name, path)
    expansion = expand_blocks(source) if source.has_blocks else None
    proto = expansion.proto if expansion else source.proto
    return _override_fields(Job(proto, path, name, text, expansion=expansion), overrides)


def _override_fields(job: Job, overrides: Iterable[str]) -> Job:
    """``job`` with ``overrides`` applied to its proto, and checked."""
    instances = job.expansion.instances if job.expansion else {}
    try:
        changed = apply_overrides(job.proto, overrides, instances)
        job = replace(job, overridden={**job.overridden, **changed})
        _check_job_proto(job.proto)
    except ConfigError as error:
        raise job.explain(error) from None
    return job


def _check_job_proto(proto: JobProto) -> None:
    """Raise ConfigError, with all faults, for what the text parser does not check: required fields, ranges, phases."""
    faults = FaultList()
    faults.found += missing_fields(proto)
    faults.found += find_out_of_range(proto)
    with faults.collecting():
        check_phases(proto.neuralnet)
    faults.raise_found()


__all__ = ["Job", "in_phase", "read_job", "read_job_text"]
