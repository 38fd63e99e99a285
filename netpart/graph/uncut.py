"""Uncut partition: the reference that every cut must equal."""

from __future__ import annotations

from pathlib import Path

from netpart.choices import PHASES
from netpart.graph.partition import Partition, partition_job
from netpart.graph.recomputed import clear_recomputation
from netpart.proto.job_pb2 import JobProto


def partition_uncut(job: JobProto, folder: Path | None = None, phases: tuple[str, ...] = PHASES) -> Partition:
    """Build the nets of ``phases`` whole, on one worker, with the mini-batch in one piece.

    Raises ConfigError as ``partition_job`` does.
    """
    plain = JobProto()
    plain.CopyFrom(job)
    plain.neuralnet.micro_batches = 1
    clear_recomputation(plain.neuralnet)
    return partition_job(plain, 1, folder, phases, uncut=True)
