"""Elastic runs end with the parameters, and tell the curve, of a run to which nothing happens."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from netpart.errors import ConfigError, WorkerFailed
from netpart.launch.report.events import CHECKPOINT, MEMORY, START, Lost, Measured, Recut, WentOn
from netpart.launch.run import run_job
from netpart.proto.job_pb2 import Schedule
from netpart.proto.reader import read_job
from tests.launch.elastic.losses import (
    STEPS,
    NoticedKills,
    check_equal,
    check_same_curve,
    elastic_job,
    killing,
    run_with_losses,
    sources,
    undisturbed,
)
from tests.launch.verdict_jobs import PLATEAU, VALIDATED, judged_job


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measured]]:
    """A run to which nothing happens: its folder and its reports."""
    folder = tmp_path_factory.mktemp("plain")
    return folder, undisturbed(elastic_job(), folder)


def test_a_killed_worker_costs_a_few_steps(plain: tuple[Path, list[Measured]], tmp_path: Path) -> None:
    summary, losses = run_with_losses(elastic_job(), 3, tmp_path, {28: killing(1)})
    check_equal(tmp_path, plain[0])
    check_same_curve(losses.of(Measured), plain[1])
    (lost,), (recut,), (went,) = losses.of(Lost), losses.of(Recut), losses.of(WentOn)
    assert "signal 9" in lost.reason
    assert (recut.workers, recut.source, recut.step % 10) == (2, MEMORY, 0)
    assert went.workers == 2
    assert summary.changes[0]["lost"]
    assert summary.steps == STEPS
    assert summary.bytes_counted == summary.bytes_predicted
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["change"] for line in lines if "change" in line] == ["lost"]


def test_a_kill_is_known_within_a_second(tmp_path: Path) -> None:
    """Once of two times: the machine may be busy. Missed heartbeats would need three seconds each time."""
    kills = NoticedKills(killing(0), 2)
    run_job(elastic_job(), 3, listener=kills, workspace=tmp_path)
    assert min(kills.found)[0] <= 1.0
    assert all("signal 9" in reason for _, reason in kills.found)


@pytest.mark.thorough
def test_one_worker_may_be_left(plain: tuple[Path, list[Measured]], tmp_path: Path) -> None:
    _, losses = run_with_losses(elastic_job(), 3, tmp_path, {21: killing(0), 42: killing(1)})
    check_equal(tmp_path, plain[0])
    check_same_curve(losses.of(Measured), plain[1])
    assert [went.workers for went in losses.of(WentOn)] == [2, 1]


def test_before_the_first_snapshot_the_run_starts_again(plain: tuple[Path, list[Measured]], tmp_path: Path) -> None:
    job = elastic_job()
    job.proto.elastic.snapshot_freq = 1000
    _, losses = run_with_losses(job, 3, tmp_path, {14: killing(0, 1)})
    check_equal(tmp_path, plain[0])
    check_same_curve(losses.of(Measured), plain[1])
    assert set(sources(losses)) <= {START, MEMORY}


@pytest.mark.thorough
def test_without_both_copies_a_checkpoint_serves(plain: tuple[Path, list[Measured]], tmp_path: Path) -> None:
    job = elastic_job("checkpoint_freq=20", "checkpoint_keep=1")
    _, losses = run_with_losses(job, 4, tmp_path, {35: killing(0, 1, 2)})
    check_equal(tmp_path, plain[0])
    assert CHECKPOINT in sources(losses)
    assert losses.of(WentOn)[-1].step == 20


@pytest.mark.thorough
def test_a_stopped_worker_is_done_without(plain: tuple[Path, list[Measured]], tmp_path: Path) -> None:
    _, losses = run_with_losses(elastic_job(), 3, tmp_path, {28: killing(2, by=signal.SIGSTOP)})
    check_equal(tmp_path, plain[0])
    assert "stopped" in losses.of(Lost)[0].reason


@pytest.mark.thorough
def test_a_lost_worker_is_started_again_if_that_is_asked_for(
    plain: tuple[Path, list[Measured]], tmp_path: Path
) -> None:
    job = elastic_job("train_steps=400")
    summary, losses = run_with_losses(job, 3, tmp_path, {14: killing(1)}, respawn=True)
    assert [went.workers for went in losses.of(WentOn)] == [2, 3]
    assert [len(change["joined"]) for change in summary.changes] == [0, 1]
    undisturbed(job, tmp_path / "plain")
    check_equal(tmp_path, tmp_path / "plain", 400)


@pytest.mark.thorough
def test_a_sharded_and_averaged_state_goes_with_the_run(tmp_path: Path) -> None:
    """Adam, averages of parameters, running statistics: all that a checkpoint has."""
    changes = ("updater.type=kAdam", "updater.ema_decay=0.9", "neuralnet.scheme=DATA", "train_steps=40")
    job = elastic_job(*changes)
    undisturbed(job, tmp_path / "plain")
    run_with_losses(job, 4, tmp_path / "lossy", {14: killing(3), 28: killing(0)})
    check_equal(tmp_path / "lossy", tmp_path / "plain", 40)


def test_verdicts_are_made_once(tmp_path: Path) -> None:
    path = judged_job(tmp_path, f'{VALIDATED} checkpoint_best: "loss/loss" early_stop {{ patience: 30 }}', PLATEAU)
    job = read_job(path)
    job.proto.elastic.min_workers, job.proto.elastic.snapshot_freq = 1, 5
    expected = undisturbed(job, tmp_path / "plain")
    _, losses = run_with_losses(job, 3, tmp_path / "lossy", {12: killing(1), 24: killing(0)})
    check_same_curve(losses.of(Measured), expected)
    check_equal(tmp_path / "lossy", tmp_path / "plain", 40)
    plain, lossy = ((tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("plain", "lossy"))
    expected_decisions, decisions = (
        [(line["step"], line["decides"]) for line in map(json.loads, lines) if "decides" in line]
        for lines in (plain, lossy)
    )
    assert decisions == expected_decisions
    assert decisions


def test_too_few_workers_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="2 of at least 3 workers left; continue with --resume") as found:
        run_with_losses(elastic_job(least=3), 3, tmp_path, {14: killing(1)})
    assert "worker 1: died (signal 9" in str(found.value)


@pytest.mark.parametrize(("changes", "launcher", "text"), [
    (("cluster.nworker_groups=2", "cluster.sync_freq=4", "cluster.nserver_groups=0"), "local", "one worker group"),
    (("cluster.nworker_groups=2",), "local", "workers without servers"),
    ((), "threads", "--launcher local, join, ray"),
    ((), "mpi", "--launcher local, join, ray"),
])  # fmt: skip
def test_what_cannot_be_elastic_is_refused(changes: tuple[str, ...], launcher: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=text):
        run_job(elastic_job(*changes), 2, launcher=launcher, workspace=tmp_path)


def test_delayed_pipelines_are_refused(tmp_path: Path) -> None:
    job = elastic_job()
    job.proto.neuralnet.schedule = Schedule.DELAYED
    with pytest.raises(ConfigError, match="a schedule whose steps end"):
        run_job(job, 2, workspace=tmp_path)


def test_respawn_needs_an_elastic_run(tmp_path: Path) -> None:
    job = elastic_job()
    job.proto.ClearField("elastic")
    with pytest.raises(ConfigError, match="--respawn: expected --elastic"):
        run_job(job, 2, workspace=tmp_path, respawn=True)
