"""Paths of data files in a job, and their conversion when the job moves to another folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import Message

from netpart.files import is_url
from netpart.proto.job_pb2 import JobProto

FIELDS = ("path", "vocab_path", "mean_file", "std_file", "meanfile", "label_path", "classes_file")
"""Fields of an input's conf that name a file. Relative paths start from the job's folder or the working directory."""


def data_fields(job: JobProto) -> Iterator[tuple[Message, str]]:
    """Every field of ``job`` that names a data file, as its block and its name."""
    for layer in job.neuralnet.layer:
        blocks = [value for field, value in layer.ListFields() if isinstance(value, Message)]
        yield from ((block, field.name) for block in blocks for field, _ in block.ListFields() if field.name in FIELDS)


def rebase_paths(job: JobProto, source: Path, target: Path) -> None:
    """Rewrite the relative paths of ``job``, read from folder ``source``, for a job in folder ``target``.

    A path that exists only in the working directory stays: jobs of every folder find the file there. A URL stays.
    """
    if source.resolve() == target.resolve():
        return
    for block, name in data_fields(job):
        if is_url(getattr(block, name)):
            continue
        path = Path(getattr(block, name))
        beside = source / path
        if not path.is_absolute() and (beside.exists() or not path.exists()):
            setattr(block, name, Path(os.path.relpath(beside.resolve(), target.resolve())).as_posix())
