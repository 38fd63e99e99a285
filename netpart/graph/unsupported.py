"""Refuses what the language can say and netpart does not do yet: a setting is never silently ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from netpart.errors import ConfigError, FieldPath, combine_faults
from netpart.proto.job_pb2 import AlgType, JobProto


class Limit(NamedTuple):
    """A setting that must have one value for now. ``read`` gives its value, ``allowed`` those that work."""

    at: FieldPath
    allowed: tuple[object, ...]
    read: Callable[[JobProto], object]
    hint: str


UNSET = "unset"


def _algorithm(job: JobProto) -> str:
    """The name of the training algorithm, or UNSET."""
    return AlgType.Name(job.train_one_batch.alg) if job.train_one_batch.HasField("alg") else UNSET


LIMITS = (
    Limit(("train_one_batch", "alg"), ("kBP", UNSET), _algorithm, "only back-propagation is there; write alg: kBP"),
    Limit(("neuralnet", "unroll_len"), (1,), lambda job: job.neuralnet.unroll_len, "recurrent nets are not there yet"),
)  # fmt: skip


def refuse_unsupported(job: JobProto) -> None:
    """Raises ConfigError for all settings that netpart does not carry out, each with its place."""
    if found := list(_unsupported_errors(job)):
        raise combine_faults(found)


def _unsupported_errors(job: JobProto) -> Iterator[ConfigError]:
    """The settings that netpart does not carry out."""
    for limit in LIMITS:
        value = limit.read(job)
        if value not in limit.allowed:
            expected = " or ".join(str(a) for a in limit.allowed if a != UNSET)
            yield ConfigError(".".join(map(str, limit.at)), expected, str(value), limit.hint, at=limit.at)
