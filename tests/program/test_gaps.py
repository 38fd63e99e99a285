"""What nobody reads of the addends of a collective has gradient zero: no worker takes memory that nobody wrote for it.

addends   0 1 2 3    cut over INPUT, on both workers
sum       0   2 3    element 0 is read on worker 0, elements 2 and 3 on worker 1
gradient  0 . 2 3    an all-gather brings it back; of element 1 there is none to bring
"""

from __future__ import annotations

import pytest

from netpart.collectives.kinds import REDUCE_SCATTER
from netpart.graph.partition import Partition, partition_job
from netpart.program.backward import BackwardCompiler
from netpart.program.compile import compile_worker
from netpart.program.instructions import Zero
from netpart.proto.job_pb2 import Collectives, JobProto
from netpart.verify.compare import compare_nets
from netpart.worker.ensemble import Ensemble
from tests.graph.jobs import data, job, layer
from tests.laws.workers import check_law

WEIGHT = "param { init { type: kGaussian std: 0.5 } } param { init { type: kConstant value: 0 } }"
CONVOLUTION = "convolution_conf {{ num_filters: 2 spatial_axes: {axes} kernel: 1 {more} }}"
READERS = {
    "pooling, k < s": ("kPooling", "pooling_conf { spatial_axes: 1 kernel: 1 stride: 2 }"),
    "convolution, k < s": ("kConvolution", CONVOLUTION.format(axes=1, more="stride: 2") + WEIGHT),
    "pooling of pairs": ("kPooling", "pooling_conf { spatial_axes: 1 kernel: 2 stride: 3 pool: AVG }"),
}


def gap(kind: str, conf: str, width: int = 4) -> JobProto:
    """Addends of a convolution, of which a reader cut on space does not read everything."""
    addends = CONVOLUTION.format(axes=1, more="") + WEIGHT.split(" param")[0]
    return job(
        data(4, f"shape: 2 shape: {width}", 3),
        layer("conv", "kConvolution", "data", more=addends + "cut { over: INPUT parts: 2 }"),
        layer("pool", kind, "conv", more=conf + "partition_dim: 2"),
        layer("ip", "kInnerProduct", "pool", more=f"innerproduct_conf {{ num_output: 3 }} {WEIGHT} partition_dim: -1"),
        layer("loss", "kSoftmaxLoss", "ip", "data", more="partition_dim: -1"),
    )


def kinds(cut: Partition) -> list[str]:
    return [found.kind for found in cut.phases["train"][0].graph.collectives]


@pytest.mark.parametrize("reader", READERS)
def test_what_nobody_reads_of_a_sum_has_gradient_zero(reader: str) -> None:
    cut = partition_job(gap(*READERS[reader], width=5), 2)
    assert kinds(cut) == [REDUCE_SCATTER]
    check_law(cut, 0)


@pytest.mark.parametrize("algorithm", ["RING", "DOUBLING", "TREE", "DIRECT"])
def test_by_any_algorithm(algorithm: str) -> None:
    proto = gap(*READERS["pooling, k < s"])
    proto.collectives = Collectives.Algorithm.Value(algorithm)  # type: ignore[assignment]
    check_law(partition_job(proto, 2), 0)


def test_only_the_gaps_are_cleared() -> None:
    program = compile_worker(partition_job(gap(*READERS["pooling, k < s"]), 2), 0).phases["train"]
    assert [i.target.box[-1] for i in program.instructions if isinstance(i, Zero)] == [(1, 2)]


def test_a_sum_that_is_read_without_a_gap_is_not_cleared() -> None:
    proto = gap("kPooling", "pooling_conf { spatial_axes: 1 kernel: 2 stride: 2 pool: AVG }")
    program = compile_worker(partition_job(proto, 2), 0).phases["train"]
    assert not any(isinstance(i, Zero) for i in program.instructions)


def test_the_reported_job_trains_as_one_worker_does() -> None:
    """Five steps; the last loss was 0.827206."""
    proto = gap(*READERS["pooling, k < s"])
    proto.seed, proto.updater.learning_rate.base_lr = 3, 0.1
    ensemble = Ensemble(partition_job(proto, 2), poison=True)
    ensemble.initialise()
    losses = [ensemble.step("train", step)["loss/loss"] for step in range(5)]
    assert losses[-1] == pytest.approx(0.732825, abs=1e-6)


def test_verify_is_right_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And notices every time if nobody clears the gap, whatever the memory held before."""
    cut, whole = (partition_job(gap(*READERS["pooling, k < s"]), n, uncut=n == 1) for n in (2, 1))
    assert compare_nets(cut, whole).holds
    monkeypatch.setattr(BackwardCompiler, "returned", lambda self, part: [part.region])
    assert not compare_nets(cut, whole).holds
