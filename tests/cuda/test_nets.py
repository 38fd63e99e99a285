"""Whole nets on a GPU: what cut nets compute there, replayed by graphs, is what one CPU worker computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.kernels.choose import kernel_class
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job, read_job_text
from netpart.updaters import build_updater
from netpart.worker.ensemble import Ensemble
from netpart.worker.player import Player
from tests.cuda.foreign import watched
from tests.cuda.module import ON_GPU, cupy
from tests.cuda.nets import NETS
from tests.laws.turns import Groups
from tests.trained.texts import gpt

STEPS = 5
"""The kernels of a step are loaded in the first, captured in the second, and replayed from then on."""

COUNTED = pytest.mark.skipif(ON_GPU, reason="the emulation counts")

pytestmark = pytest.mark.usefixtures("device")


def cut(name: str, workers: int, folder: Path, dtype: str = "FLOAT64") -> Partition:
    """A net, and the transformer of other tests, cut."""
    if name == "gpt":
        return partition_job(read_job(gpt(folder), [f"dtype={dtype}"]).proto, workers, folder)
    return partition_job(read_job_text(NETS[name], overrides=[f"dtype={dtype}"]).proto, workers)


def compare(parts: Ensemble, whole: Ensemble, tolerance: float) -> None:
    """Trains both, and holds losses and parameters against each other behind every step."""
    for ensemble in (parts, whole):
        ensemble.initialise()
    for step in range(STEPS):
        found, expected = parts.step("train", step), whole.step("train", step)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=10 * tolerance, err_msg=f"{name} in step {step}")
        for parameter in whole.partition.parameters:
            a, b = parts.parameter(parameter.name), whole.parameter(parameter.name)
            apart = float(np.linalg.norm(a - b)) / max(float(np.linalg.norm(b)), 1e-3)
            assert apart <= tolerance, f"{parameter.name} behind step {step}: {apart:.1e}"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", [*NETS, "gpt"])
def test_a_cut_net_on_a_gpu_is_the_uncut_net_on_a_cpu(name: str, workers: int, tmp_path: Path) -> None:
    parts = Ensemble(cut(name, workers, tmp_path), kernels=kernel_class("cuda"), poison=True)
    compare(parts, Ensemble(cut(name, 1, tmp_path)), 1e-12)


@COUNTED
@pytest.mark.parametrize("name", [*NETS, "gpt"])
def test_a_step_has_no_kernel_of_cupys_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Ensemble(cut(name, 2, tmp_path), kernels=kernel_class("cuda"))
    parts.initialise()
    found = watched(monkeypatch)
    for step in range(STEPS):
        for player in parts.players:
            player.trace.events = [] if step == 3 else None
        parts.step("train", step)
    assert not found


@COUNTED
def test_delayed_stages_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = delayed("cuda")
    assert [player.program.versions for player in stages.players] == [2, 1]
    found = watched(monkeypatch)
    for step in range(2 * STEPS):
        stages.step("train", step, drain=step % STEPS == STEPS - 1)
    assert not found


@COUNTED
def test_groups_that_average_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = averaging("cuda")
    found = watched(monkeypatch)
    groups.run()
    assert not found


def test_groups_average_on_a_gpu_what_they_average_on_a_cpu() -> None:
    found, expected = averaging("cuda"), averaging("reference")
    for groups in (found, expected):
        groups.run()
        assert max(sum(applied.staleness for applied in each) for each in groups.applied.values()) > 0
    for name in expected.names:
        np.testing.assert_allclose(found.parameter(name), expected.parameter(name), rtol=1e-11, atol=1e-13)


def averaging(kernels: str) -> Groups:
    """Three groups of two workers, which bring in each average a round late."""
    job = read_job_text(NETS["mlp"], overrides=["train_steps=24"]).proto
    job.cluster.nworker_groups = 3
    job.cluster.sync_freq = 2
    job.cluster.staleness = 1
    job.cluster.nserver_groups = 0
    return Groups(job, 2, 1, (15,), kernel_class(kernels))


@pytest.mark.parametrize("name", [*NETS, "gpt"])
def test_float32_differs_by_rounding(name: str, tmp_path: Path) -> None:
    parts = Ensemble(cut(name, 2, tmp_path, "FLOAT32"), kernels=kernel_class("cuda"), poison=True)
    compare(parts, Ensemble(cut(name, 1, tmp_path)), 1e-4)


def delayed(kernels: str) -> Ensemble:
    """Stages that train on what was computed some steps before."""
    job = read_job_text(NETS["mlp"], overrides=["neuralnet.schedule=DELAYED"]).proto
    job.updater.clip_norm = 0
    for layer in job.neuralnet.layer:
        layer.ClearField("partition_dim")  # else its cut is the one that counts
    ensemble = Ensemble(partition_by_scheme(job, 2, None, "pipeline"), kernels=kernel_class(kernels), poison=True)
    ensemble.initialise()
    return ensemble


def test_stages_that_are_delayed_are_replayed_each_with_its_own_step() -> None:
    ends = []
    for name in ("cuda", "reference"):
        ensemble = delayed(name)
        for step in range(2 * STEPS):
            ensemble.step("train", step, drain=step == 2 * STEPS - 1)
        ends.append({p.name: ensemble.parameter(p.name) for p in ensemble.partition.parameters})
    for name, values in ends[0].items():
        np.testing.assert_allclose(values, ends[1][name], rtol=1e-11, atol=1e-13, err_msg=name)


def test_the_reference_kernels_on_a_gpu_are_not_captured() -> None:
    job, rule = (found := read_job_text(NETS["convolutions"]).proto), build_updater(found.updater)
    player = Player(compile_worker(partition_job(job, 1), 0, len(rule.states)), None, cupy(), rule, job.seed)
    whole = Ensemble(partition_job(job, 1))
    player.parameters.initialise()
    whole.initialise()
    for step in range(2):
        assert list(player.play("train", step)) == []
        whole.step("train", step)
    for holding, each in enumerate(player.program.holdings):
        found, expected = player.parameters.values(holding).get(), whole.parameter(each.parameter.name)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert player.replayed["train"] is player.bound["train"].turns
