"""Memory of layers: what the tables hold is what the partitioned graph keeps, in float32 and in bfloat16."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import build_plan_space
from netpart.plan.price.cost import held_bytes
from netpart.plan.price.devices import equal_devices
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.job_pb2 import KernelSet, Products
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.spec import BFLOAT16

WIDTH = 4
"""Bytes of a parameter."""


def parameter_bytes(partition: Partition, arrays: int) -> float:
    """Bytes that worker 0 holds of the parameters, with a copy in bfloat16 of factors of layers that are stored so."""
    net, found = partition.graph.net, 0.0
    for node in net.nodes:
        for spec, parameter in zip(node.layer.params, node.params, strict=True):
            rounded = spec.factor and net.element(node.index) == BFLOAT16
            narrow = node.layer.takes_bfloat16(job_kernel_class(partition.job))
            copied = (2 + WIDTH * (not narrow)) * rounded
            found += prod(parameter.spec.shape) * (WIDTH * arrays + copied)
    return found


@pytest.mark.parametrize("precision", [Products.FLOAT32, Products.BFLOAT16])
@pytest.mark.parametrize("name", ["mlp/column-row", "mnist/conv", "resnet/resnet18-small"])
def test_one_worker_holds_what_the_graph_keeps(name: str, precision: Any) -> None:
    job = read_job(zoo_folder() / f"{name}.conf").proto
    job.precision, job.kernels = precision, KernelSet.REFERENCE
    priced = PricedJob(job, None, equal_devices(1, 1e9), {})
    space = build_plan_space(LayerTables(priced.net(), priced.setting()))
    assignment = space.bound(1.0).assignment
    partition = priced.partition(space.plan_choices(assignment))
    kernels, graph = job_kernel_class(job), partition.graph
    kept = sum(held_bytes(graph, part, WIDTH, kernels) for part in graph.parts if part.kind == LAYER)
    parameters = parameter_bytes(partition, 2 + priced.setting().slots)
    assert space.worker_memory(assignment) == pytest.approx(np.array([kept + parameters]))


def test_activations_in_bfloat16_take_half_the_bytes() -> None:
    """All but inputs and losses: a net of little else."""
    job = read_job(zoo_folder() / "mnist/conv.conf").proto
    job.kernels = KernelSet.REFERENCE
    held = []
    for precision in (Products.FLOAT32, Products.BFLOAT16):
        job.precision = precision
        priced = PricedJob(job, None, equal_devices(1, 1e9), {}, recomputes=True)
        layers = LayerTables(priced.net(), priced.setting())
        held.append(layers.priced(layers.net.by_name["conv1"].index).freed.item())
    assert held[0] == 2 * held[1] > 0
