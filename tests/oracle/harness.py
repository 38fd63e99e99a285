"""Plays a job beside the same net written with PyTorch: same weights, same batches, SGD with momentum, float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from netpart.graph.partition import partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import JobProto
from netpart.proto.updater_pb2 import ChangeMethod, UpdaterType
from netpart.worker.ensemble import Ensemble

STEPS = 20
TOLERANCE = 1e-9
Weights = Mapping[str, Any]
Net = Callable[[Weights, Any, Any], Any]
"""From weights by netpart's names, a batch and its labels to the loss."""


def prepared(job: JobProto, rows: int, rate: float) -> JobProto:
    """``job`` in float64 with mini-batches of ``rows``, trained by SGD with momentum."""
    job.dtype = JobProto.FLOAT64
    job.updater.type, job.updater.momentum = UpdaterType.kSGD, 0.5
    job.updater.learning_rate.type, job.updater.learning_rate.base_lr = ChangeMethod.kFixed, rate
    for layer in job.neuralnet.layer:
        for field in ("store_conf", "text_conf"):
            if layer.HasField(field):
                getattr(layer, field).batchsize[:] = [rows]
    return job


def uncut(job: JobProto) -> list[float]:
    """Netpart's losses on one worker."""
    return losses(Ensemble(partition_job(job, 1, uncut=True)))


def cut(job: JobProto, workers: int, scheme: str) -> list[float]:
    """Netpart's losses under a cut."""
    return losses(Ensemble(partition_by_scheme(job, workers, scheme=scheme)))


def losses(ensemble: Ensemble) -> list[float]:
    """The loss of every step."""
    ensemble.initialise()
    return [ensemble.step("train", step)["loss/loss"] for step in range(STEPS)]


def by_torch(job: JobProto, net: Net, autocast: bool = False) -> list[float]:
    """The losses of ``net`` from netpart's initial weights on the batches that netpart reads.

    ``autocast``: in float32, under PyTorch's autocast to bfloat16.
    """
    import torch

    source = Ensemble(partition_job(job, 1, uncut=True), keep=True)
    source.initialise()
    names = [parameter.name for parameter in source.partition.parameters]
    reader = job.neuralnet.layer[0].name
    dtype = torch.float32 if autocast else torch.float64
    weights = {name: torch.tensor(source.parameter(name), dtype=dtype, requires_grad=True) for name in names}
    updater = job.updater
    sgd = torch.optim.SGD(weights.values(), lr=updater.learning_rate.base_lr, momentum=updater.momentum)
    found = []
    for step in range(STEPS):
        source.step("train", step)
        data, label = (torch.tensor(source.activation("train", reader, output)) for output in (0, 1))
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = net(weights, data, label.long())
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        found.append(float(loss.detach()))
    return found


def agree(found: list[float], expected: list[float]) -> None:
    """Every loss to 1e-9, and they fall."""
    assert found == pytest.approx(expected, rel=TOLERANCE)
    assert found[-1] < found[0]
