"""Refuses counts that cannot be: fewer than no steps, no workers, no micro-batches."""

from __future__ import annotations

from typing import cast

from google.protobuf.message import Message

from netpart.errors import ConfigError, FieldPath
from netpart.proto.job_pb2 import JobProto

LEAST: dict[FieldPath, int] = {
    ("train_steps",): 0,
    ("disp_freq",): 0,
    ("test_freq",): 0,
    ("test_steps",): 0,
    ("test_after",): 0,
    ("validate_freq",): 0,
    ("validate_steps",): 0,
    ("validate_after",): 0,
    ("checkpoint_freq",): 0,
    ("checkpoint_after",): 0,
    ("step",): 0,
    ("bucket_bytes",): 1,
    ("neuralnet", "micro_batches"): 1,
    ("cluster", "nworker_groups"): 1,
    ("cluster", "nserver_groups"): 0,
    ("cluster", "nworkers_per_group"): 1,
    ("cluster", "nservers_per_group"): 1,
    ("cluster", "sync_freq"): 1,
    ("cluster", "staleness"): 0,
}
"""The smallest value of every count of a job; those of layers are refused by the layers."""


def check_counts(job: JobProto) -> None:
    """Raises ConfigError for the first count that is too small."""
    for at, least in LEAST.items():
        block: Message = job
        for name in at[:-1]:
            block = getattr(block, str(name))
        value = cast(int, getattr(block, str(at[-1])))
        if value < least:
            who, hint = ".".join(map(str, at)), f"write {at[-1]}: {least} or more"
            raise ConfigError(who, f"{least} or more", str(value), hint, at=at)
