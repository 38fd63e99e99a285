"""Evaluations: a phase from a checkpoint equals the last test of the run that wrote it, on any number of workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netpart.errors import ConfigError, DataError
from netpart.launch.evaluate import EvaluatedPhase, evaluate_job, partition_evaluation
from netpart.launch.report.events import Event, Started, Summary
from netpart.launch.run import LaunchChoice, run_job
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.proto.reader import Job, read_job
from tests.end2end.running import mlp

THREADS = LaunchChoice("threads")
CLOSE = 1e-11


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return mlp(tmp_path, dtype="FLOAT64")


@pytest.fixture
def trained(path: Path, tmp_path: Path) -> Summary:
    return run_job(read_job(path), 2, launcher="threads", workspace=tmp_path / "run")


def play(path: Path, summary: Summary, workers: int, phase: str = "test", *changes: str) -> Summary:
    played = EvaluatedPhase(phase, workspace=Path(summary.workspace).parent / "evaluate")
    job = read_job(path, list(changes))
    return evaluate_job(job, Path(summary.checkpoint), played, workers=workers, choice=THREADS)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_test_from_a_checkpoint_is_the_last_test_of_its_run(workers: int, path: Path, trained: Summary) -> None:
    found = play(path, trained, workers)
    assert found.test == pytest.approx(trained.test, rel=CLOSE)
    assert found.train == found.validation == {}
    assert found.bytes_counted == found.bytes_predicted
    assert (found.bytes_counted > 0) == (workers > 1)


def test_a_validation(path: Path, trained: Summary) -> None:
    """Validation reads the training layer here."""
    path.write_text(path.read_text().replace("include: kTrain partition", "include: kTrain include: kVal partition"))
    one, three = (play(path, trained, workers, "val", "validate_steps=3").validation for workers in (1, 3))
    assert one == pytest.approx(three, rel=CLOSE)
    assert one["loss/loss"] != trained.test["loss/loss"]


def test_nothing_is_written_but_logs_and_metrics(path: Path, trained: Summary, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    play(path, trained, 2)
    assert {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()} == before
    assert [file.name for file in (tmp_path / "evaluate").rglob("*")] == ["metrics.jsonl"]


def test_the_step_is_that_of_the_checkpoint(path: Path, trained: Summary, tmp_path: Path) -> None:
    heard = list[Event]()
    played = EvaluatedPhase(workspace=tmp_path / "evaluate")
    evaluate_job(read_job(path), Path(trained.checkpoint), played, workers=1, choice=THREADS, listener=heard.append)
    started = next(event for event in heard if isinstance(event, Started))
    assert (started.phase, started.first_step, started.batch) == ("test", 12, 6)


def test_no_training_net_is_compiled(path: Path, trained: Summary) -> None:
    job = read_job(path)
    cut = partition_evaluation(job, Path(trained.checkpoint), EvaluatedPhase(), 2)
    assert list(cut.phases) == ["test"]
    program = compile_worker(cut, 0)
    whole = compile_worker(partition_by_scheme(job.proto, 2, job.folder), 0, 1)
    assert program.gradients == [None] * len(program.parameters)
    assert program.state_bytes == 0
    assert program.total_bytes < whole.total_bytes / 2


def test_groups_and_servers_are_for_training_alone(path: Path, trained: Summary) -> None:
    found = play(path, trained, 2, "test", "cluster.nworker_groups=2", "cluster.nserver_groups=1")
    assert found.workers == 2
    assert found.test == pytest.approx(trained.test, rel=CLOSE)


def test_averages_are_tested_where_the_run_tests_them(tmp_path: Path) -> None:
    path = mlp(tmp_path, dtype="FLOAT64")
    changes = ["updater.ema_decay=0.9", "updater.ema_eval=true"]
    job = read_job(path, changes)
    trained = run_job(job, 2, launcher="threads", workspace=tmp_path / "run")
    assert play(path, trained, 3, "test", *changes).test == pytest.approx(trained.test, rel=CLOSE)
    assert play(path, trained, 3).test["loss/loss"] != pytest.approx(trained.test["loss/loss"], rel=1e-3)
    Path(trained.checkpoint).with_suffix(".updater").unlink()
    with pytest.raises(DataError, match="got nothing there"):
        play(path, trained, 1, "test", *changes)


def test_another_number_of_mini_batches(path: Path, trained: Summary, tmp_path: Path) -> None:
    played = EvaluatedPhase("test", 1, workspace=tmp_path / "evaluate")
    job: Job = replace(read_job(path), workers=1)
    found = evaluate_job(job, Path(trained.checkpoint), played, choice=THREADS)
    assert found.test["loss/loss"] != trained.test["loss/loss"]


def test_a_phase_that_the_job_has_not_is_refused(path: Path, trained: Summary) -> None:
    with pytest.raises(ConfigError, match="test_steps: expected 1 or more, got 0; add it, or write --steps N"):
        play(path, trained, 1, "test", "test_steps=0")
    path.write_text("train_steps: 1 neuralnet { layer { name: 'a' include: kTrain type: kReLU srclayers: 'b' } }")
    with pytest.raises(ConfigError, match="neuralnet: expected layers in phase test, got none; choose another --phase"):
        play(path, trained, 1)


def test_an_interrupted_evaluation_speaks_of_its_phase(path: Path, trained: Summary, tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        raise KeyboardInterrupt

    played = EvaluatedPhase(workspace=tmp_path / "evaluate")
    with pytest.raises(KeyboardInterrupt, match=r"interrupted .*in phase test; the checkpoint is as it was"):
        evaluate_job(read_job(path), Path(trained.checkpoint), played, workers=2, choice=THREADS, listener=interrupt)
