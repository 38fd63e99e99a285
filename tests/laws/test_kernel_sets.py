"""The law of kernel sets: in float32 oneDNN's kernels err as the reference kernels do, tensor by tensor.

The yardstick is the reference's own error against float64 from the same weights (tests/laws/yardstick.py). The bounds
of a cut are those of docs/verify.md, "What decides".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from netpart.graph.partition import Partition, partition_job
from netpart.graph.uncut import partition_uncut
from netpart.kernels.onednn import winograd
from netpart.kernels.onednn.kernels import Kernels as Fast
from netpart.kernels.onednn.library import missing_onednn
from netpart.kernels.op import Array, Op, chain_ops
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import JobProto, LayerType
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.verify.bench import ComparisonBench
from netpart.worker.ensemble import Ensemble
from tests.laws.groups import Group
from tests.laws.nets import Example, examples
from tests.laws.wired import every_wire, wired
from tests.laws.workers import reference
from tests.laws.yardstick import EPS, Yardstick
from tests.thorough import example_count, sampled

pytestmark = pytest.mark.skipif(bool(missing_onednn()), reason=missing_onednn())

STEPS = 3
ZOO = {
    "mnist/conv": ("data@train.store_conf.batchsize[0]=16",),
    "unet/unet3d-small": (),
    "mobilenet/mobilenetv2-small": (),
    "densenet/densenet121-small": (),
    "resnet/resnet18-small": (),
    "gpt/tiny": ("text.text_conf.batchsize=2", "text.text_conf.window=24"),
}
"""Small nets, and what makes them smaller."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place from which ../../data holds a text, as it does from graphs/FAMILY."""
    root = tmp_path_factory.mktemp("zoo")
    (root / "data").mkdir()
    (root / "data" / "python.txt").write_bytes(5 * Path(__file__).read_bytes())
    (root / "graphs" / "family").mkdir(parents=True)
    return root / "graphs" / "family"


def job_of(name: str, dtype: str = "FLOAT32") -> JobProto:
    """A job of the zoo; its images are noise, in which ties are rare."""
    job = read_job(zoo_folder() / f"{name}.conf", [*ZOO[name], f"dtype={dtype}"]).proto
    for conf in job.neuralnet.layer:
        if conf.type == LayerType.kRecordInput:
            conf.type = LayerType.kSyntheticInput
            conf.synthetic_conf.classes = 10
            for field in ("backend", "path", "shuffle", "std_value"):
                conf.store_conf.ClearField(field)
    return job


def sets(name: str, folder: Path) -> tuple[Partition, Partition]:
    """A job of the zoo, uncut: in float64 and in float32."""
    return partition_uncut(job_of(name, "FLOAT64"), folder), partition_uncut(job_of(name), folder)


def check(yardstick: Yardstick) -> int:
    """Holds every tensor of some steps against its bound; returns how many there were."""
    count = 0
    for step in range(STEPS):
        for found in yardstick.step(step):
            assert found.holds, f"step {step}: {found}"
            count += 1
    return count


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", sampled(ZOO, 2))
def test_the_zoo_errs_as_the_reference_does(name: str, workers: int, folder: Path) -> None:
    exact, whole = sets(name, folder)
    cut = whole if workers == 1 else partition_by_scheme(job_of(name), workers, folder, "data")
    yardstick = Yardstick(exact, whole, Ensemble(cut, keep=True, kernels=Fast))
    outputs = sum(len(node.layer.outputs) for node in yardstick.net.nodes)
    assert check(yardstick) > STEPS * outputs, "near ties in every step: no gradient was compared"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["unet/unet3d-small", "resnet/resnet18-small"])
def test_tiles_wherever_they_are_possible_err_as_the_reference_does(
    name: str, workers: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(winograd, "RATE", 0)
    exact, whole = sets(name, folder)
    cut = whole if workers == 1 else partition_by_scheme(job_of(name), workers, folder, "data")
    assert check(Yardstick(exact, whole, Ensemble(cut, keep=True, kernels=Fast)))


class Coarse(Fast):
    """Kernels whose convolutions lose five bits."""

    def convolution(self, x: Array, w: Array, b: Array | None, y: Array, *rest: Any) -> Op:
        right = super().convolution(x, w, b, y, *rest)
        return chain_ops(right, Op(lambda: np.multiply(y, np.float32(1 + 64 * EPS), out=y)))


def test_five_lost_bits_are_noticed(folder: Path) -> None:
    exact, whole = sets("resnet/resnet18-small", folder)
    found = list(Yardstick(exact, whole, Ensemble(whole, keep=True, kernels=Coarse)).step(0))
    assert [f.name for f in found if not f.holds][:1] == ["conv1 0"]


@every_wire
@given(example=examples())
@settings(max_examples=example_count(28))
def test_random_nets_err_as_the_reference_does(wire: Group, example: Example) -> None:
    job = JobProto()
    job.CopyFrom(example.job)
    job.dtype = JobProto.FLOAT32
    with wired(wire, partition_job(job, example.workers), keep=True, kernels=Fast) as fast:
        check(Yardstick(reference(example.job), reference(job), fast))


@every_wire
@pytest.mark.parametrize("name", ["mnist/conv", "resnet/resnet18-small", "gpt/tiny"])
def test_two_workers_are_one_to_rounding(name: str, wire: Group, folder: Path) -> None:
    whole, cut = partition_uncut(job_of(name), folder), partition_by_scheme(job_of(name), 2, folder, "data")
    with wired(wire, cut, keep=True, kernels=Fast) as fast:
        for comparison in ComparisonBench(fast, Ensemble(whole, keep=True, kernels=Fast)).play(STEPS):
            assert comparison.holds, comparison
