"""The law of bfloat16: a net that stores bfloat16 errs as the uncut one with the reference kernels does, cut or not.

The yardstick is that of the law of kernel sets: 8 times the error of the reference against float64, and 8 u of the
tensor's scale. u = 2⁻⁸ is the largest relative error of one rounding to bfloat16. Kernels and cuts round at the same
places, where a tensor is stored, except sums of addends of a cut, which are rounded once more for each addend, and
products within attention: so few roundings of their own that 8 u cover them, where the reference happens to be exact.
So do the roundings of convolutions in tiles, which are used wherever they are possible at a ``rate`` of 0.
"""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import partition_job
from netpart.kernels.choose import has_bfloat16, probe_onednn
from netpart.kernels.onednn import winograd
from netpart.kernels.onednn.kernels import Kernels as Fast
from netpart.kernels.reference import Kernels
from netpart.proto.job_pb2 import JobProto, KernelSet, Products
from netpart.worker.ensemble import Ensemble
from tests.laws.nets import Example, examples
from tests.laws.test_workers import check_bytes
from tests.laws.workers import ChannelsLast, bits, reference
from tests.laws.yardstick import Yardstick
from tests.thorough import example_count

EPS = 2.0**-9
"""u / 2: the yardstick allows 16 of these."""
STEPS = 2
FAST = [] if probe_onednn() or not has_bfloat16() else [Fast]
kernel_sets = st.sampled_from([Kernels, ChannelsLast, *FAST])


def narrow(job: JobProto) -> JobProto:
    """``job`` with activations in bfloat16, on CPUs."""
    found = JobProto()
    found.CopyFrom(job)
    found.dtype, found.precision = JobProto.FLOAT32, Products.BFLOAT16
    found.device, found.kernels = JobProto.CPU, KernelSet.REFERENCE
    return found


def hold(yardstick: Yardstick, again: Ensemble) -> None:
    """Hold some steps to the law; ``again`` plays the first with buffers that share memory: not a bit may differ."""
    again.initialise()
    for step in range(STEPS):
        for found in yardstick.step(step):
            assert found.holds, f"step {step}: {found}"
        if step == 0:
            again.step("train", step)
            assert bits(yardstick.fast) == bits(again)


@given(example=examples(), kernels=kernel_sets, order=st.integers(0, 99), rate=st.sampled_from([0, winograd.RATE]))
@settings(max_examples=example_count(28))
def test_random_nets_err_as_one_worker_does(
    example: Example, kernels: type[Kernels], order: int, rate: int
) -> None:  # fmt: skip
    job = narrow(example.job)
    cut = partition_job(job, example.workers)
    with patch.object(winograd, "RATE", rate):
        fast = Ensemble(cut, order=order, keep=True, poison=True, kernels=kernels)
        again = Ensemble(cut, order=order + 1, poison=True, kernels=kernels)
    hold(Yardstick(reference(example.job), reference(job), fast, EPS), again)
    check_bytes(again)
