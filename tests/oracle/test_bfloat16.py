"""The tiny GPT in bfloat16 follows PyTorch under its autocast, and both follow float64, uncut and cut."""

from __future__ import annotations

import pytest

from netpart.kernels.choose import has_bfloat16, probe_onednn
from netpart.kernels.onednn.kernels import Kernels as Fast
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import JobProto, KernelSet, Products
from netpart.worker.ensemble import Ensemble
from tests.oracle.harness import by_torch, losses
from tests.oracle.test_tiny_gpt import small, tiny

pytestmark = pytest.mark.peers

NEAR = 0.05
"""Relative difference of two losses: roundings of 2⁻⁸, which 20 steps that almost halve the loss amplify."""
SETS = [Kernels, *([] if probe_onednn() or not has_bfloat16() else [Fast])]


def narrow() -> JobProto:
    """The job with activations in bfloat16."""
    job = small()
    job.dtype, job.precision = JobProto.FLOAT32, Products.BFLOAT16
    job.device, job.kernels = JobProto.CPU, KernelSet.REFERENCE
    return job


@pytest.fixture(scope="module")
def expected() -> tuple[list[float], list[float]]:
    """PyTorch's losses under autocast, and in float64."""
    return by_torch(small(), tiny, autocast=True), by_torch(small(), tiny)


@pytest.mark.parametrize("kernels", SETS)
@pytest.mark.parametrize("workers", [1, 2])
def test_losses_are_those_of_autocast(
    expected: tuple[list[float], list[float]], workers: int, kernels: type[Kernels]
) -> None:
    found = losses(Ensemble(partition_by_scheme(narrow(), workers, scheme="data"), kernels=kernels))
    for right in expected:
        assert found == pytest.approx(right, rel=NEAR)
    assert found[-1] < found[0]
