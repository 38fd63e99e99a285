"""Ignored labels: those that count for nothing in a layer of a job, so that they are no classes."""

from __future__ import annotations

from netpart.proto.job_pb2 import JobProto
from netpart.proto.phase import in_phase

CONFS = "softmaxloss_conf", "argsort_conf"
"""The confs with a field ``ignore_index``."""


def find_ignored_labels(job: JobProto, phase: str, name: str) -> frozenset[int]:
    """The labels that layers of ``phase`` above the input ``name`` ignore."""
    layers = [conf for i, conf in enumerate(job.neuralnet.layer) if in_phase(conf, phase, ("neuralnet", "layer", i))]
    above = {name}
    while more := {conf.name for conf in layers if above.intersection(conf.srclayers)} - above:
        above |= more
    confs = (getattr(conf, field) for conf in layers if conf.name in above for field in CONFS)
    return frozenset(conf.ignore_index for conf in confs if conf.HasField("ignore_index"))
