"""Warnings for settings of a job that have little or no effect. Every verb prints them, before NumPy is imported."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.graph.scheme import overruled_warning, scheme_name
from netpart.proto.job_pb2 import JobProto, LayerProto, Schedule
from netpart.proto.phase import PHASE_VALUES, counts_in_phase, in_phase


def ineffective_warnings(job: JobProto) -> Iterator[str]:
    """Warnings for settings without effect.

    These are: a scheme although every layer has its own cut; stages or a schedule for a single micro-batch; shared
    processes between several groups; evaluations without steps; a partition_dim that a ``cut`` replaces.
    """
    scheme = scheme_name(job)
    net = job.neuralnet
    if scheme == "PIPELINE" and net.micro_batches <= 1 and net.schedule != Schedule.DELAYED:
        yield "one stage works at a time, as there is one micro-batch; cut the mini-batch with --micro-batches 4, say"
    if warning := overruled_warning(job):
        yield warning
    if job.cluster.nworker_groups > 1 and job.cluster.nworkers_per_procs > 1:
        kept = "each keeps its own and they are averaged" if job.cluster.nserver_groups != 1 else "servers keep them"
        yield f"nworkers_per_procs shares no parameters in memory: every worker is a process of its own, and {kept}"
    if net.schedule == Schedule.GPIPE and net.micro_batches <= 1:
        yield "schedule GPIPE orders micro-batches, and there is one; cut the mini-batch with --micro-batches 4, say"
    yield from _untested_warnings(job)
    yield from map(_cut_twice_warning, filter(_is_cut_twice, net.layer))


def _untested_warnings(job: JobProto) -> Iterator[str]:
    """Warnings for evaluations that have a frequency but no number of steps. Steps explicitly set to 0 are intended."""
    tests = "test", job.test_freq, job.HasField("test_steps")
    validations = "validate", job.validate_freq, job.HasField("validate_steps")
    for phase, freq, has_steps in (tests, validations):
        if freq > 0 and not has_steps:
            steps = f"{phase}_steps"
            hint = f"write {steps}: 10, say, or omit {phase}_freq"
            yield f"{phase}_freq: {freq} has no effect, as there is no {steps}; {hint}"


def _is_cut_twice(layer: LayerProto) -> bool:
    """True if ``cut`` replaces the partition_dim of ``layer`` in every phase that it is in."""
    phases = [phase for phase in PHASE_VALUES if in_phase(layer, phase)] if layer.HasField("partition_dim") else []
    return bool(phases) and all(any(counts_in_phase(cut, phase) for cut in layer.cut) for phase in phases)


def _cut_twice_warning(layer: LayerProto) -> str:
    """The warning for a layer for which ``_is_cut_twice`` is True."""
    return f"{layer.name}: partition_dim: {layer.partition_dim} is not read, as cut is written; remove one"
