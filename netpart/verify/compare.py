"""Comparison of a cut net with the uncut net on the same data: activations, metrics, gradients, parameters.

Both nets run in this process; the workers of the cut net run in turn. Comparisons are in the order in which a step
computes the tensors. So the first one that exceeds its bound is where the cut is wrong; those after it may only have
inherited the error. ``docs/verify.md`` explains the classes and the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netpart.graph.partition import MicroBatch, Partition
from netpart.graph.ready import check_ready
from netpart.graph.uncut import partition_uncut
from netpart.kernels.choose import kernel_class
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.program.kernel_choice import choose_job_kernels
from netpart.progress import track_items
from netpart.proto.job_pb2 import JobProto
from netpart.verify.bench import ComparisonBench
from netpart.verify.report import VerifyReport
from netpart.worker.ensemble import Ensemble
from netpart.worker.initial_values import job_restored_names


@dataclass(frozen=True)
class SchemeReport:
    """The result of ``verify_job`` under one scheme, and the bytes that a training step sends under it."""

    scheme: str
    nbytes: int
    report: VerifyReport

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"scheme": self.scheme, "bytes": self.nbytes, **self.report.to_json()}


def verify_job(job: JobProto, workers: int, steps: int = 3, folder: Path | None = None) -> VerifyReport:
    """Run ``steps`` training steps of ``job``, cut over ``workers`` and uncut, then one step of each other phase.

    The uncut net has one worker and one micro-batch. Raises ConfigError for a job that cannot be built, DataError for
    its data, MemoryRefused if both nets do not fit into this process.
    """
    return compare_nets(partition_by_scheme(job, workers, folder), partition_uncut(job, folder), steps)


def verify_schemes(
    job: JobProto, workers: int, schemes: Sequence[str], steps: int = 3, folder: Path | None = None
) -> Iterator[SchemeReport]:
    """Yield the report of ``job`` under each of ``schemes`` in turn; raise as ``verify_job`` does."""
    whole = partition_uncut(job, folder)
    for scheme in track_items(schemes, "scheme"):
        cut = partition_by_scheme(job, workers, folder, scheme)
        yield SchemeReport(scheme, compute_ledger(cut).total, compare_nets(cut, whole, steps))


def compare_nets(cut: Partition, whole: Partition, steps: int = 3) -> VerifyReport:
    """Compare ``cut``, with the kernels of its job, with ``whole``, the same job uncut, with the reference kernels.

    In float32 ``whole`` also runs in float64, to measure its own rounding error. Raises as ``verify_job`` does.
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
    """An ensemble that keeps its tensors for inspection, with all memory NaN before it is written.

    A value that no worker computed can then not be right by chance.
    """
    return Ensemble(cut, keep=True, poison=True, kernels=kernels)


def _in_float64(whole: Partition) -> Partition:
    """The same partition in float64."""
    job = JobProto()
    job.CopyFrom(whole.job)
    job.dtype = JobProto.FLOAT64
    job.ClearField("precision")
    phases = {phase: [_without_bfloat16(micro) for micro in micros] for phase, micros in whole.phases.items()}
    return replace(whole, job=job, phases=phases)


def _without_bfloat16(micro: MicroBatch) -> MicroBatch:
    """The same micro-batch, with activations that are not rounded."""
    return replace(micro, graph=replace(micro.graph, net=replace(micro.graph.net, narrow=False)))
