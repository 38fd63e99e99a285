"""Whole runs: processes, threads and the ensemble agree; checkpoints fit any cut; every byte is foretold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from netpart.graph.partition import partition_job
from netpart.launch.report.events import Event, Measured, Saved, Summary
from netpart.launch.report.predicted_volumes import predict_bytes_by_edge
from netpart.launch.run import run_job
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.worker.ensemble import Ensemble
from tests.end2end.running import Run, mlp
from tests.thorough import sampled
from tests.worker.jobs import LENET

TOLERANCE = 1e-11
Tensors = dict[str, NDArray[Any]]


def play(job: Job, workers: int, workspace: Path, launcher: str = "local") -> tuple[Summary, list[Event]]:
    heard: list[Event] = []
    return run_job(job, workers, launcher=launcher, listener=heard.append, workspace=workspace), heard


def saved(workspace: Path, step: int) -> Tensors:
    return dict(load_file(workspace / "checkpoint" / f"step{step:08d}.safetensors"))


def compare(found: Tensors, expected: Tensors, tolerance: float = TOLERANCE) -> None:
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        assert found[name].shape == wanted.shape
        assert found[name].dtype == wanted.dtype
        error = np.linalg.norm(found[name] - wanted) / max(float(np.linalg.norm(wanted)), 1e-3)
        assert error <= tolerance, f"{name}: error {error:.1e}"


def ensemble_of(job: Job, workers: int, steps: int, uncut: bool = False) -> Ensemble:
    proto = JobProto()
    proto.CopyFrom(job.proto)
    if uncut:
        proto.neuralnet.micro_batches = 1
    ensemble = Ensemble(partition_job(proto, workers, uncut=uncut), kernels=job_kernel_class(proto))
    ensemble.initialise()
    for step in range(steps):
        ensemble.step("train", step)
    return ensemble


def parameters(ensemble: Ensemble) -> Tensors:
    return {
        p.name: ensemble.parameter(p.name).reshape(p.spec.saved or p.spec.shape) for p in ensemble.partition.parameters
    }


def losses(events: list[Event]) -> list[tuple[str, int, tuple[float, ...]]]:
    return [(e.phase, e.step, tuple(e.metrics.values())) for e in events if isinstance(e, Measured)]


def lenet(*overrides: str) -> Job:
    return read_job_text(LENET, overrides=["train_steps=5", "disp_freq=1", "dtype=FLOAT64", *overrides])


JOBS = {
    "mlp on 3": (3, ("dtype=FLOAT64",)),
    "mlp whole": (1, ("dtype=FLOAT64",)),
    "mlp on 2, micro-batches": (2, ("dtype=FLOAT64", "neuralnet.micro_batches=3")),
    "mlp on 4, tiny buckets": (4, ("dtype=FLOAT64", "bucket_bytes=8", "updater.type=kAdaGrad")),
    "mlp, layers on workers": (3, ("dtype=FLOAT64", "fc1.partition_dim=1", "fc2.location=2", "fc2.partition_dim=-1")),
    "mlp, everything on neurons": (3, ("dtype=FLOAT64", "neuralnet.partition_dim=1", "relu.partition_dim=0")),
    "mlp in float32": (3, ("dtype=FLOAT32",)),
}


@pytest.mark.parametrize(("workers", "overrides"), sampled(JOBS.values(), 3), ids=JOBS)
def test_processes_threads_and_the_ensemble_agree(tmp_path: Path, workers: int, overrides: tuple[str, ...]) -> None:
    job = read_job(mlp(tmp_path), overrides)
    by_processes, heard = play(job, workers, tmp_path / "processes")
    by_threads, also = play(job, workers, tmp_path / "threads", "threads")
    assert losses(heard) == losses(also)
    float32 = "dtype=FLOAT32" in overrides
    compare(saved(tmp_path / "processes", 12), parameters(ensemble_of(job, workers, 12)), 0.0)
    compare(saved(tmp_path / "processes", 12), saved(tmp_path / "threads", 12), 0.0)
    compare(
        saved(tmp_path / "processes", 12),
        parameters(ensemble_of(job, 1, 12, uncut=True)),
        1e-4 if float32 else TOLERANCE,
    )
    for summary in (by_processes, by_threads):
        assert summary.bytes_counted == summary.bytes_predicted
        assert summary.bytes_by_edge == {
            n: b for n, b in predict_bytes_by_edge(partition_job(job.proto, workers), 0).items() if b
        }
        assert len(summary.step_seconds) == summary.steps
        assert min(summary.step_seconds) > 0
        assert sum(summary.step_seconds) >= summary.train_seconds * (1 - 1e-9)


STAGES = {"data": 0, "fc1": 0, "relu": 1, "fc2": 2, "loss": 2}
PAUSES = (3, 4, 7, 9, 11)
"""Steps before a checkpoint, of which one is due every 4 steps, or a test, every 5."""


@pytest.mark.parametrize("launcher", sampled(["threads", "local"], 2))
def test_a_delayed_pipeline_pauses_for_tests_and_checkpoints_alone(tmp_path: Path, launcher: str) -> None:
    cut = [f"{name}.{field}" for name, k in STAGES.items() for field in (f"location={k}", "partition_dim=-1")]
    conf, schedule = mlp(tmp_path), "neuralnet.schedule=DELAYED"
    summary, heard = play(read_job(conf, ["dtype=FLOAT64", schedule, *cut]), 3, tmp_path / "run", launcher)
    expected = Ensemble(partition_job(read_job(conf, ["dtype=FLOAT64", schedule, *cut]).proto, 3))
    expected.initialise()
    losses_of = [expected.step("train", step, drain=step in PAUSES)["loss/loss"] for step in range(12)]
    assert [e.metrics["loss/loss"] for e in heard if isinstance(e, Measured) and e.phase == "train"] == losses_of
    compare(saved(tmp_path / "run", 12), parameters(expected), 0.0)
    assert summary.bytes_counted == summary.bytes_predicted > 0
    plain = ensemble_of(read_job(conf, ["dtype=FLOAT64", *cut]), 3, 12)
    assert np.abs(parameters(plain)["fc1/w1"] - parameters(expected)["fc1/w1"]).max() > 1e-3
    resumed = read_job(conf, ["dtype=FLOAT64", "resume=true", schedule, *cut])
    (tmp_path / "run" / "checkpoint" / "step00000012.safetensors").unlink()
    play(resumed, 3, tmp_path / "run", launcher)
    compare(saved(tmp_path / "run", 12), parameters(expected), 0.0)


def test_a_hybrid_lenet_agrees_with_the_uncut_one(tmp_path: Path) -> None:
    summary, heard = play(lenet(), 3, tmp_path / "run")
    whole = Ensemble(partition_job(lenet().proto, 1))
    whole.initialise()
    expected = [tuple(whole.step("train", step).values()) for step in range(5)]
    found = [values for _, _, values in losses(heard)]
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE)
    compare(saved(tmp_path / "run", 5), parameters(whole))
    assert summary.bytes_counted == summary.bytes_predicted > 0


def test_the_same_run_twice_is_the_same_bit_for_bit_also_side_by_side(tmp_path: Path) -> None:
    conf = mlp(tmp_path, dtype="FLOAT32", train_steps=20)
    with Run(conf, 2, tmp_path / "a") as a, Run(conf, 2, tmp_path / "b") as b:
        assert (a.end(), b.end()) == (0, 0)
        for run_ in (a, b):
            run_.check_nothing_is_left()
    names = sorted(path.name for path in (tmp_path / "a" / "checkpoint").iterdir())
    assert len(names) == 12
    for name in names:
        assert (tmp_path / "a" / "checkpoint" / name).read_bytes() == (
            tmp_path / "b" / "checkpoint" / name
        ).read_bytes()


def test_checkpoints_are_whole_tensors_by_layer_and_parameter(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path), ["dtype=FLOAT64"])
    _, heard = play(job, 3, tmp_path / "run")
    assert [e.step for e in heard if isinstance(e, Saved)] == [0, 4, 8, 12]
    for step in (0, 4, 8, 12):
        found = saved(tmp_path / "run", step)
        assert {name: t.shape for name, t in found.items()} == {
            "fc1/w1": (16, 8), "fc1/b1": (16,), "fc2/weight": (4, 16), "fc2/bias": (4,),
        }  # fmt: skip
        compare(found, parameters(ensemble_of(job, 3, step)), 0.0)


def test_a_job_that_asks_for_none_saves_its_end(tmp_path: Path) -> None:
    _, heard = play(read_job(mlp(tmp_path, checkpoint_freq=0)), 1, tmp_path / "run", "threads")
    assert [e.step for e in heard if isinstance(e, Saved)] == [12]


def test_saved_by_three_and_resumed_by_two_with_another_cut(tmp_path: Path) -> None:
    """Momentum included: the resumed run is the uninterrupted one, to rounding."""
    conf = mlp(tmp_path)
    play(read_job(conf, ["dtype=FLOAT64", "train_steps=7"]), 3, tmp_path / "run")
    other = read_job(conf, ["dtype=FLOAT64", "resume=true", "fc1.partition_dim=1", "fc2.partition_dim=0"])
    summary, heard = play(other, 2, tmp_path / "run")
    straight, all_heard = play(read_job(conf, ["dtype=FLOAT64"]), 3, tmp_path / "straight")
    compare(saved(tmp_path / "run", 12), saved(tmp_path / "straight", 12))
    assert [e.step for e in heard if isinstance(e, Measured) and e.phase == "train"] == [8, 9, 10, 11, 12]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["phase"] == "train"] == list(range(1, 13))
    expected = {e.step: e.metrics["loss/loss"] for e in all_heard if isinstance(e, Measured) and e.phase == "train"}
    for line in lines:
        if line["phase"] == "train":
            assert line["metrics"]["loss/loss"] == pytest.approx(expected[line["step"]], rel=TOLERANCE)
    assert summary.steps == 5
    assert summary.bytes_counted == summary.bytes_predicted
    assert straight.bytes_counted == straight.bytes_predicted


def test_running_statistics_are_saved_and_resumed_with_another_cut(tmp_path: Path) -> None:
    """Threads on three workers, then two with other cuts; a test in between reads them."""
    settings = {"train_steps": 6, "checkpoint_freq": 3, "test_freq": 3, "test_steps": 1, "disp_freq": 1}
    for name, workers, cut, more in (
        ("straight", 3, 0, {}), ("run", 3, 0, {"train_steps": 3}), ("run", 2, 1, {"resume": "true"}),
    ):  # fmt: skip
        text = NORMED.format(cut=cut, settings=" ".join(f"{k}: {v}" for k, v in {**settings, **more}.items()))
        play(read_job_text(text), workers, tmp_path / name, "threads")
    found, expected = saved(tmp_path / "run", 6), saved(tmp_path / "straight", 6)
    assert {name: t.shape for name, t in found.items() if name.startswith("bn/")} == {
        "bn/mean": (5,), "bn/variance": (5,), "bn/weight": (5,), "bn/bias": (5,),
    }  # fmt: skip
    compare(found, expected)
    lines = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("run", "straight")]
    tests = [[m["metrics"]["loss/loss"] for m in map(json.loads, of) if m["phase"] == "test"] for of in lines]
    np.testing.assert_allclose(tests[0][-1], tests[1][-1], rtol=TOLERANCE)


NORMED = """
{settings} dtype: FLOAT64
updater {{ type: kSGD momentum: 0.9 weight_decay: 0.1 learning_rate {{ type: kFixed base_lr: 0.05 }} }}
neuralnet {{
  partition_dim: 0
  layer {{
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf {{ shape: 4 batchsize: 8 }} synthetic_conf {{ classes: 4 }}
  }}
  layer {{
    name: "fc1" type: kInnerProduct srclayers: "data" innerproduct_conf {{ num_output: 5 }}
    param {{ init {{ type: kGaussian }} }} param {{ init {{ type: kConstant }} }}
  }}
  layer {{
    name: "bn" type: kBM srclayers: "fc1" partition_dim: {cut}
    param {{ init {{ type: kConstant }} }} param {{ init {{ type: kConstant value: 0 }} }}
  }}
  layer {{
    name: "fc2" type: kInnerProduct srclayers: "bn" innerproduct_conf {{ num_output: 4 }}
    param {{ init {{ type: kGaussian }} }} param {{ init {{ type: kConstant }} }}
  }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "fc2" srclayers: "data" partition_dim: {cut} }}
}}
"""


def test_resuming_what_is_done_changes_nothing(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path))
    play(job, 2, tmp_path / "run", "threads")
    path = tmp_path / "run" / "checkpoint" / "step00000012.safetensors"
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    job.proto.resume = True
    summary, heard = play(job, 3, tmp_path / "run", "threads")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [type(e).__name__ for e in heard] == ["Started", "Measured", "Ended"]
    assert summary.bytes_counted == summary.bytes_predicted


def test_a_checkpoint_of_another_run_is_a_start(tmp_path: Path) -> None:
    """checkpoint_path gives parameters, not the step; its name need not say one."""
    conf = mlp(tmp_path)
    play(read_job(conf), 2, tmp_path / "first", "threads")
    path = (tmp_path / "first" / "checkpoint" / "step00000012.safetensors").rename(tmp_path / "found.safetensors")
    play(read_job(conf, [f"checkpoint_path={path}"]), 3, tmp_path / "second", "threads")
    compare(saved(tmp_path / "second", 0), dict(load_file(path)), 0.0)
    assert saved(tmp_path / "second", 12).keys() == saved(tmp_path / "second", 0).keys()


def test_validation_and_test_nets_are_measured_and_counted(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path), ["validate_freq=3", "validate_steps=2"])
    validation = job.proto.neuralnet.layer.add()
    validation.CopyFrom(job.proto.neuralnet.layer[1])
    validation.include[0] = validation.include[0].__class__(2)
    summary, heard = play(job, 3, tmp_path / "run", "threads")
    steps = [e.step for e in heard if isinstance(e, Measured) and e.phase == "val"]
    assert steps == [0, 3, 6, 9, 12]
    assert summary.validation.keys() == {"loss/loss", "loss/accuracy"}
    assert summary.bytes_counted == summary.bytes_predicted
