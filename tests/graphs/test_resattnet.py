"""3D-ResAttNet is what tools/zoo/resattnet.py says: its parameters, where attention stands, how it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import pytest

from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.plan.partition import partition_by_scheme
from netpart.proto.phase import in_phase
from netpart.proto.reader import read_job
from netpart.proto.updater_pb2 import ChangeMethod, UpdaterType
from netpart.worker.ensemble import Ensemble
from tests.datasets.samples import scans
from tests.house.tree import ROOT

FOLDER = ROOT / "graphs" / "resattnet"
BLOCKS = {"resattnet18": (2, 2, 2, 2), "resattnet34": (3, 4, 6, 3), "resnet3d18": (2, 2, 2, 2)}
REDUCED = [f"resattnet{depth}-{task}" for depth in (18, 34) for task in ("ad-nc", "smci-pmci")]
ASYNC = "resattnet18-ad-nc-async"
SCANS = 631


def net(name: str) -> Net:
    return build_net(read_job(FOLDER / f"{name}.conf").proto, "train", FOLDER)


def parameters(blocks: Sequence[int], attended: Sequence[int]) -> int:
    """Trained parameters, counted from the description: convolutions of 27 taps without bias, two numbers per channel
    of each normalisation, a projection where a stage begins; attentions after stages ``attended``, two classes."""
    total, channels = 27 * 64 + 2 * 64, 64
    for stage, count in enumerate(blocks):
        width = 64 * 2**stage
        for i in range(count):
            total += 27 * (channels * width + width * width) + 4 * width
            total += (channels * width + 2 * width) if channels != width and i == 0 else 0
            channels = width
        if stage in attended:
            narrow = width // 8
            total += 2 * (width * narrow + narrow) + width * width + width + 1
    return total + 2 * channels + 2


@pytest.mark.parametrize(
    ("name", "attended"), [("resattnet18", (1, 2, 3)), ("resattnet34", (1, 2, 3)), ("resnet3d18", ())]
)
def test_parameters_are_those_of_the_description(name: str, attended: tuple[int, ...]) -> None:
    trained = (spec for node in net(name).nodes for spec in node.layer.params if spec.running is None)
    assert sum(prod(spec.shape) for spec in trained) == parameters(BLOCKS[name], attended)


@pytest.mark.parametrize("name", ["resattnet18", "resattnet34"])
def test_attention_stands_behind_every_stage_of_4096_positions_or_fewer(name: str) -> None:
    layers = net(name).by_name
    last = [layers[f"s{stage}b{count}-out"].layer.output.shape for stage, count in enumerate(BLOCKS[name], start=2)]
    expected = [f"s{stage}-attention" for stage, shape in enumerate(last, start=2) if prod(shape[2:]) <= 4096]
    assert [n for n in layers if n.endswith("-attention")] == expected
    assert len(expected) == 3


@pytest.mark.parametrize("name", BLOCKS)
def test_training_follows_the_paper(name: str) -> None:
    job = read_job(FOLDER / f"{name}.conf").proto
    rate = job.updater.learning_rate
    assert (job.updater.type, job.updater.momentum) == (UpdaterType.kSGD, 0)
    assert rate.type == ChangeMethod.kLinear
    assert rate.base_lr == pytest.approx(1e-4)
    assert rate.linear_conf.final_lr == pytest.approx(1e-6)
    assert rate.linear_conf.change_freq == job.train_steps
    assert net(name).rows == 6
    assert 50 * SCANS / 6 <= job.train_steps < 51 * SCANS / 6


@pytest.mark.parametrize("name", [*BLOCKS, *REDUCED, ASYNC])
def test_a_test_reads_other_scans_and_counts_confusions(name: str) -> None:
    confs = read_job(FOLDER / f"{name}.conf").proto.neuralnet.layer
    train, test = (next(c for c in confs if c.name == "data" and in_phase(c, phase)) for phase in ("train", "test"))
    assert train.nifti_conf.path.removesuffix("train.csv") == test.nifti_conf.path.removesuffix("test.csv")
    assert train.nifti_conf.shape == test.nifti_conf.shape
    assert train.nifti_conf.flip > test.nifti_conf.flip
    assert [c.name for c in confs if in_phase(c, "test") and not in_phase(c, "train")] == ["data", "confusion"]


def test_a_group_that_averages_takes_the_steps_of_one_that_does_not() -> None:
    one, many = (read_job(FOLDER / f"{name}.conf").proto for name in (ASYNC.removesuffix("-async"), ASYNC))
    assert net(ASYNC).rows == net(ASYNC.removesuffix("-async")).rows
    assert many.train_steps == many.cluster.nworker_groups * one.train_steps
    assert many.updater.learning_rate.linear_conf.change_freq == many.train_steps
    assert (many.cluster.nserver_groups, many.cluster.sync_freq, many.cluster.staleness) == (0, 1, 1)


def test_a_gate_is_closed_at_first_and_learns(tmp_path: Path) -> None:
    job = read_job(FOLDER / "resattnet18-small.conf")
    ensemble = Ensemble(partition_by_scheme(job.proto, 1, job.folder))
    ensemble.initialise()
    assert not ensemble.parameter("s3-gate/weight").any()
    ensemble.step("train", 0)
    assert np.abs(ensemble.parameter("s3-gate/weight")) > 0


@pytest.mark.parametrize("workers", [1, 3])
def test_a_reduced_net_is_tested_alike_on_any_number_of_workers(workers: int, tmp_path: Path) -> None:
    scans(tmp_path / "data" / "phantom", "ad-nc", shape=(16, 16, 16))
    (tmp_path / "graphs" / "family").mkdir(parents=True)
    job = read_job(FOLDER / "resattnet18-ad-nc.conf")
    for layer in job.proto.neuralnet.layer:
        if layer.HasField("nifti_conf"):
            layer.nifti_conf.batchsize[:] = [3]
    ensemble = Ensemble(partition_by_scheme(job.proto, workers, tmp_path / "graphs" / "family"))
    ensemble.initialise()
    loss = ensemble.step("train", 0)["loss/loss"]
    found = ensemble.step("test", 0)
    assert {"confusion/accuracy", "confusion/sensitivity", "confusion/specificity", "confusion/auc"} <= found.keys()
    assert found["confusion/accuracy"] == found["loss/accuracy"]
    known = KNOWN.setdefault("loss", loss)
    assert loss == pytest.approx(known, rel=1e-5)


KNOWN: dict[str, float] = {}
"""The loss of the first of these tests that ran."""
