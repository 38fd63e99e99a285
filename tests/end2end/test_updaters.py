"""Clipped norms, decoupled decay, schedules and averages in whole runs: across cuts, checkpoints and phases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from netpart.errors import ConfigError, DataError
from netpart.launch.report.events import Event, Measured
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.running import mlp
from tests.thorough import sampled

MODERN = (
    "dtype=FLOAT64", "updater.type=kAdamW", "updater.weight_decay=0.1", "updater.clip_norm=0.25",
    "updater.learning_rate.type=kOneCycle", "updater.learning_rate.onecycle_conf.change_freq=12",
    "updater.learning_rate.onecycle_conf.max_lr=0.1", "updater.learning_rate.warmup_steps=2",
    "updater.ema_decay=0.75", "updater.ema_warmup=true", "updater.ema_eval=true",
)  # fmt: skip
Tensors = dict[str, NDArray[np.float64]]


def play(conf: Path, workers: int, workspace: Path, *overrides: str, launcher: str = "threads") -> list[Event]:
    heard: list[Event] = []
    summary = run_job(
        read_job(conf, [*MODERN, *overrides]), workers, launcher=launcher, listener=heard.append, workspace=workspace
    )
    assert summary.bytes_counted == summary.bytes_predicted
    return heard


def saved(workspace: Path, step: int) -> Tensors:
    folder = workspace / "checkpoint"
    return {**load_file(folder / f"step{step:08d}.safetensors"), **load_file(folder / f"step{step:08d}.updater")}


def averages(found: Tensors) -> Tensors:
    return {name.removesuffix(".average"): a for name, a in found.items() if name.endswith(".average")}


def losses(heard: list[Event]) -> dict[int, float]:
    return {e.step: e.metrics["loss/loss"] for e in heard if isinstance(e, Measured) and e.phase == "test"}


def compare(found: Tensors, expected: Tensors, tolerance: float = 1e-9) -> None:
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name], wanted, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("launcher", ["threads", "local"])
def test_three_workers_are_one(tmp_path: Path, launcher: str) -> None:
    conf = mlp(tmp_path)
    alone = losses(play(conf, 1, tmp_path / "one"))
    assert losses(play(conf, 3, tmp_path / "three", launcher=launcher)) == pytest.approx(alone, rel=1e-9)
    compare(saved(tmp_path / "three", 12), saved(tmp_path / "one", 12))


def test_saved_by_three_and_resumed_by_two_with_another_cut(tmp_path: Path) -> None:
    conf = mlp(tmp_path)
    play(conf, 3, tmp_path / "run", "train_steps=7")
    play(conf, 2, tmp_path / "run", "resume=true", "fc1.partition_dim=1", "fc2.partition_dim=0")
    play(conf, 3, tmp_path / "straight")
    compare(saved(tmp_path / "run", 12), saved(tmp_path / "straight", 12))


@pytest.mark.parametrize("launcher", sampled(["threads", "local"], 2))
def test_saved_in_shares_and_resumed_without(tmp_path: Path, launcher: str) -> None:
    conf, shares = mlp(tmp_path), ("updater.ema_eval=false", "shard_updates=YES")
    play(conf, 3, tmp_path / "run", *shares, "train_steps=5", launcher=launcher)
    play(conf, 2, tmp_path / "run", "updater.ema_eval=false", "resume=true", "train_steps=8", launcher=launcher)
    play(conf, 2, tmp_path / "run", *shares, "resume=true", launcher=launcher)
    play(conf, 1, tmp_path / "straight", "updater.ema_eval=false")
    compare(saved(tmp_path / "run", 12), saved(tmp_path / "straight", 12))


def test_the_first_averages_are_the_initial_values(tmp_path: Path) -> None:
    play(mlp(tmp_path), 3, tmp_path / "run")
    first, last = saved(tmp_path / "run", 0), saved(tmp_path / "run", 12)
    for name, mean in averages(first).items():
        assert np.array_equal(mean, first[name])
    assert any(np.abs(mean - last[name]).max() > 1e-3 for name, mean in averages(last).items())


def test_tests_use_averages_and_a_job_can_start_from_them(tmp_path: Path) -> None:
    """The new job's first test, of parameters that were averages, is the old job's last."""
    conf = mlp(tmp_path)
    last = losses(play(conf, 3, tmp_path / "old"))[12]
    plain = losses(play(conf, 3, tmp_path / "plain", "updater.ema_eval=false"))[12]
    path = tmp_path / "old" / "checkpoint" / "step00000012.safetensors"
    heard = play(
        conf, 2, tmp_path / "new", f"checkpoint_path={path}", "updater.ema_start=true", "updater.ema_decay=0",
        "updater.ema_warmup=false", "updater.ema_eval=false",
    )  # fmt: skip
    assert losses(heard)[0] == pytest.approx(last, rel=1e-9)
    assert abs(plain - last) > 1e-6
    old, new = saved(tmp_path / "old", 12), saved(tmp_path / "new", 0)
    assert all(np.array_equal(new[name], mean) for name, mean in averages(old).items())
    assert all(not new[f"{name}.mean"].any() for name in averages(old))


def test_averages_that_are_not_there(tmp_path: Path) -> None:
    conf = mlp(tmp_path)
    with pytest.raises(ConfigError, match=r"updater\.ema_start: expected a checkpoint to start from, got none"):
        play(conf, 1, tmp_path / "none", "updater.ema_start=true")
    play(conf, 1, tmp_path / "old", "updater.ema_decay=0", "updater.ema_warmup=false", "updater.ema_eval=false")
    path = tmp_path / "old" / "checkpoint" / "step00000012.safetensors"
    with pytest.raises(DataError, match=r"train with updater\.ema_decay to have them"):
        play(conf, 1, tmp_path / "new", f"checkpoint_path={path}", "updater.ema_start=true")


NORM = """
name: "norm" dtype: FLOAT64 train_steps: 6 test_steps: 1 seed: 2
updater { type: kSGD ema_decay: 0.5 learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: 4 } synthetic_conf { classes: 3 } }
  layer { name: "bn" type: kBM srclayers: "data" bm_conf { momentum: 0.5 }
    param { init { type: kConstant value: 1 } } param { init { type: kConstant } } }
  layer { name: "fc" type: kInnerProduct srclayers: "bn" innerproduct_conf { num_output: 3 }
    param { init { type: kGaussian } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def normed(folder: Path, workspace: Path, *overrides: str) -> Tensors:
    conf = folder / "norm.conf"
    conf.write_text(NORM)
    run_job(read_job(conf, overrides), 1, launcher="threads", workspace=workspace)
    return saved(workspace, 6)


def test_a_resumed_run_keeps_running_statistics_whatever_their_saved_averages_are(tmp_path: Path) -> None:
    """Earlier checkpoints have as their averages what they had begun with."""
    straight = normed(tmp_path, tmp_path / "straight")
    assert np.array_equal(straight["bn/mean.average"], straight["bn/mean"])
    normed(tmp_path, tmp_path / "run", "checkpoint_freq=3")
    for each in (tmp_path / "run" / "checkpoint").glob("step00000006.*"):
        each.unlink()
    path = tmp_path / "run" / "checkpoint" / "step00000003.updater"
    old = load_file(path)
    old["bn/mean.average"] = np.zeros_like(old["bn/mean.average"])
    save_file(old, path)
    compare(normed(tmp_path, tmp_path / "run", "resume=true"), straight, 0)
