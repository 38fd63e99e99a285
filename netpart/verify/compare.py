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
from netpart.graph.uncut import partition_uncut
from netpart.kernels.choose import kernel_class
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.program.kernels import choose_job_kernels
from netpart.proto.job_pb2 import JobProto
from netpart.verify.bench import ComparisonBench
from netpart.verify.report import VerifyReport
from netpart.worker.ensemble import Ensemble
from netpart.worker.initial_values import job_restored_names


@dataclass(frozen=True)
class SchemeReport:
    """What ``verify_job`` finds of a job under one scheme, and the bytes that a training step then sends."""

    scheme: str
    nbytes: int
    report: VerifyReport

    def to_json(self) -> dict[str, Any]:
        """The report as values of JSON."""
        return {"scheme": self.scheme, "bytes": self.nbytes, **self.report.to_json()}


def verify_job(job: JobProto, workers: int, steps: int = 3, folder: Path | None = None) -> VerifyReport:
    """Plays ``steps`` training steps of ``job`` cut over ``workers`` and uncut, then one of each other phase it has.

    The uncut net has one worker and one micro-batch. Raises ConfigError for a job that cannot be built, DataError
    for its data, MemoryRefused where both nets do not fit into this process.
    """
    return compare_nets(partition_by_scheme(job, workers, folder), partition_uncut(job, folder), steps)


def verify_schemes(
    job: JobProto, workers: int, schemes: Sequence[str], steps: int = 3, folder: Path | None = None
) -> Iterator[SchemeReport]:
    """Verifies ``job`` under each of ``schemes`` in turn; raises what ``verify_job`` does."""
    whole = partition_uncut(job, folder)
    for scheme in schemes:
        cut = partition_by_scheme(job, workers, folder, scheme)
        yield SchemeReport(scheme, compute_ledger(cut).total, compare_nets(cut, whole, steps))


def compare_nets(cut: Partition, whole: Partition, steps: int = 3) -> VerifyReport:
    """Plays ``cut``, with the kernels of its job, and ``whole``, the same job uncut, with the reference kernels, and
    compares all they can be asked. In float32 ``whole`` plays in float64 too, to show how far rounding goes.

    Raises what ``verify_job`` does.
    """
    check_ready(cut, job_restored_names(cut.job))
    kernels = choose_job_kernels(cut.job).name
    exact = None if cut.job.dtype == JobProto.FLOAT64 else _poisoned_ensemble(_in_float64(whole))
    bench = ComparisonBench(_poisoned_ensemble(cut, kernel_class(kernels)), _poisoned_ensemble(whole), exact)
    comparisons = tuple(bench.play(steps))
    return VerifyReport(
        cut.graph.net.name, cut.workers, steps, bench.dtype, len(cut.phases["train"]), comparisons, kernels
    )


def _poisoned_ensemble(cut: Partition, kernels: type[Kernels] = Kernels) -> Ensemble:
    """An ensemble that can be looked into, in whose memory what nobody wrote is no number: it cannot look right."""
    return Ensemble(cut, keep=True, poison=True, kernels=kernels)


def _in_float64(whole: Partition) -> Partition:
    """The same in float64."""
    job = JobProto()
    job.CopyFrom(whole.job)
    job.dtype = JobProto.FLOAT64
    return replace(whole, job=job)
