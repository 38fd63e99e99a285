"""Which tensors are stored in bfloat16, and what that does to buffers, messages and parameters."""

from __future__ import annotations

import pytest

from netpart.graph.narrow_storage import stores_bfloat16
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.program.compile import compile_worker
from netpart.proto.job_pb2 import JobProto, KernelSet, Products
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.spec import BFLOAT16, FLOAT, INT


def cut(precision: Products.Precision) -> Partition:
    """A net with batch norms over two workers, with the reference kernels."""
    job = read_job(zoo_folder() / "resnet" / "resnet18-small.conf").proto
    job.kernels, job.device, job.precision = KernelSet.REFERENCE, JobProto.CPU, precision
    return partition_by_scheme(job, 2, scheme="altsplit")


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        ({}, True),
        ({"kernels": KernelSet.ONEDNN}, True),
        ({"kernels": KernelSet.CUDA}, False),
        ({"device": JobProto.CUDA}, False),
        ({"dtype": JobProto.FLOAT64}, False),
        ({"precision": Products.TF32}, False),
    ],
)
def test_cpus_store_bfloat16_where_the_job_says_so(fields: dict[str, int], stored: bool) -> None:
    job = JobProto(precision=Products.BFLOAT16, kernels=KernelSet.REFERENCE, device=JobProto.CPU)
    for name, value in fields.items():
        setattr(job, name, value)
    assert stores_bfloat16(job) == stored


def test_inputs_statistics_and_losses_are_exact() -> None:
    net = cut(Products.BFLOAT16).graph.net
    found = {node.name: net.element(node.index) for node in net.nodes}
    assert (found["data"], found["conv1"], found["loss"]) == (FLOAT, BFLOAT16, FLOAT)
    assert net.element(net.by_name["data"].index, 1) == INT
    assert {kind for name, kind in found.items() if name.startswith("moments-")} <= {FLOAT}


def test_parameters_stay_and_activations_halve() -> None:
    narrow, wide = cut(Products.BFLOAT16), cut(Products.FLOAT32)
    program = compile_worker(narrow, 0)
    assert {program.buffers[view.buffer].dtype for view in program.parameters} == {FLOAT}
    assert {program.buffers[v.buffer].dtype for v in program.gradients if v is not None} == {FLOAT}
    exact = sum(f.nbytes for f in compute_ledger(narrow).flows if "moments" in f.name or "bucket" in f.name)
    halved, whole = compute_ledger(narrow).total - exact, compute_ledger(wide).total - exact
    inputs = [f.nbytes for f in compute_ledger(narrow).flows if f.name.startswith("data") or " data" in f.name]
    assert whole - sum(inputs) == 2 * (halved - sum(inputs))
