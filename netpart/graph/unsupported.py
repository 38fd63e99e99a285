"""Refusal of settings that the language defines but netpart does not implement: no setting is silently ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from netpart.errors import ConfigError, FieldPath, combine_faults
from netpart.proto.job_pb2 import AlgType, JobProto


class Limit(NamedTuple):
    """A setting of which only some values are implemented. ``read`` returns its value, ``allowed`` lists those that
    work."""

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
    """Raise ConfigError for all settings that netpart does not implement, each with its place."""
    if found := list(_unsupported_errors(job)):
        raise combine_faults(found)


def _unsupported_errors(job: JobProto) -> Iterator[ConfigError]:
    """An error for each setting that netpart does not implement."""
    for limit in LIMITS:
        value = limit.read(job)
        if value not in limit.allowed:
            expected = " or ".join(str(a) for a in limit.allowed if a != UNSET)
            yield ConfigError(".".join(map(str, limit.at)), expected, str(value), limit.hint, at=limit.at)
