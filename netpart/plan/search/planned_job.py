"""Planned job: a job without the cuts that it sets, and with other numbers of micro-batches."""

from __future__ import annotations

from dataclasses import replace

from netpart.graph.scheme import OF_PIPELINE
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job
from netpart.proto.writer import CUT


def clear_plan_fields(job: Job) -> Job:
    """``job`` without its cuts, locations and scheme, which are to be planned."""
    proto = _copy_proto(job.proto)
    for field in ("scheme", "partition_dim", *OF_PIPELINE):
        proto.neuralnet.ClearField(field)
    for layer in proto.neuralnet.layer:
        for name in CUT:
            layer.ClearField(name)
    return replace(job, proto=proto)


def with_micro_batches(job: Job, count: int, recompute: bool) -> Job:
    """``job`` with ``count`` micro-batches and ``recompute``; the same object if it has them already."""
    net = job.proto.neuralnet
    if (count, recompute) == (max(1, net.micro_batches), net.recompute):
        return job
    proto = _copy_proto(job.proto)
    proto.neuralnet.micro_batches = count
    proto.neuralnet.recompute = recompute
    return replace(job, proto=proto)


def _copy_proto(proto: JobProto) -> JobProto:
    """A copy of ``proto``."""
    copy = JobProto()
    copy.CopyFrom(proto)
    return copy
