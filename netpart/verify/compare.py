"""The cut net against the uncut one on the same data: activations, metrics, gradients, parameters, step by step.

Both nets are played in this process: the cut one by all its workers in turn. Comparisons stand in the order in which
a step computes them, so the first one that leaves its bound is where the cut went wrong; everything behind it may only
have inherited the error. ``docs/verify.md`` says what the classes and the bounds mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netpart.graph.partition import Partition
from netpart.graph.ready import check_ready
from netpart.graph.uncut import uncut
from netpart.kernels.choose import named
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition
from netpart.plan.price.ledger import ledger
from netpart.program.kernels import choice
from netpart.proto.job_pb2 import JobProto
from netpart.verify.bench import Bench
from netpart.verify.report import Report
from netpart.worker.ensemble import Ensemble
from netpart.worker.initial_values import held_by


@dataclass(frozen=True)
class SchemeReport:
    """What ``verify`` finds of a job under one scheme, and the bytes that a training step then sends."""

    scheme: str
    nbytes: int
    report: Report

    def to_json(self) -> dict[str, Any]:
        """The report as values of JSON."""
        return {"scheme": self.scheme, "bytes": self.nbytes, **self.report.to_json()}


def verify(job: JobProto, workers: int, steps: int = 3, folder: Path | None = None) -> Report:
    """Plays ``steps`` training steps of ``job`` cut over ``workers`` and uncut, then one of each other phase it has.

    The uncut net has one worker and one micro-batch. Raises ConfigError for a job that cannot be built, DataError
    for its data, MemoryRefused where both nets do not fit into this process.
    """
    return compare(partition(job, workers, folder), uncut(job, folder), steps)


def verify_schemes(
    job: JobProto, workers: int, schemes: Sequence[str], steps: int = 3, folder: Path | None = None
) -> Iterator[SchemeReport]:
    """Verifies ``job`` under each of ``schemes`` in turn; raises what ``verify`` does."""
    whole = uncut(job, folder)
    for scheme in schemes:
        cut = partition(job, workers, folder, scheme)
        yield SchemeReport(scheme, ledger(cut).total, compare(cut, whole, steps))


def compare(cut: Partition, whole: Partition, steps: int = 3) -> Report:
    """Plays ``cut``, with the kernels of its job, and ``whole``, the same job uncut, with the reference kernels, and
    compares all they can be asked. In float32 ``whole`` plays in float64 too, to show how far rounding goes.

    Raises what ``verify`` does.
    """
    check_ready(cut, held_by(cut.job))
    kernels = choice(cut.job).name
    exact = None if cut.job.dtype == JobProto.FLOAT64 else _played(_widened(whole))
    bench = Bench(_played(cut, named(kernels)), _played(whole), exact)
    comparisons = tuple(bench.play(steps))
    return Report(cut.graph.net.name, cut.workers, steps, bench.dtype, len(cut.phases["train"]), comparisons, kernels)


def _played(cut: Partition, kernels: type[Kernels] = Kernels) -> Ensemble:
    """An ensemble that can be looked into, in whose memory what nobody wrote is no number: it cannot look right."""
    return Ensemble(cut, keep=True, poison=True, kernels=kernels)


def _widened(whole: Partition) -> Partition:
    """The same in float64."""
    job = JobProto()
    job.CopyFrom(whole.job)
    job.dtype = JobProto.FLOAT64
    return replace(whole, job=job)
