"""What a job asks for and little follows from: every verb says it, before NumPy is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.graph.scheme import overruled, scheme_name
from netpart.proto.job_pb2 import JobProto, Schedule


def unheeded(job: JobProto) -> Iterator[str]:
    """Warnings: a scheme where every cut is written, stages or an order of one piece."""
    scheme, net = scheme_name(job), job.neuralnet
    if scheme == "PIPELINE" and net.micro_batches <= 1 and net.schedule != Schedule.DELAYED:
        yield "one stage works at a time, as there is one micro-batch; cut the mini-batch with --micro-batches 4, say"
    if warning := overruled(job):
        yield warning
    if job.cluster.nworker_groups > 1 and job.cluster.nworkers_per_procs > 1:
        kept = "each keeps its own and they are averaged" if job.cluster.nserver_groups != 1 else "servers keep them"
        yield f"nworkers_per_procs shares no parameters in memory: every worker is a process of its own, and {kept}"
    if net.schedule == Schedule.GPIPE and net.micro_batches <= 1:
        yield "schedule GPIPE orders micro-batches, and there is one; cut the mini-batch with --micro-batches 4, say"
