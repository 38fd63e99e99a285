"""The loggers of docs/watching.md, with the packages that they are for, in a run each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end2end.running import mlp
from tests.house.page_package import page_blocks, run_python, write_entry_points

WANDB, MLFLOW = page_blocks("watching.md")["python"]
(ENTRY_POINTS,) = page_blocks("watching.md")["ini"]
RUN = """
import sys
from netpart.cli.main import main
sys.exit(main(["run", "mlp.conf", "--workers", "2", "--launcher", "threads", "--workspace", "run", *sys.argv[1:]]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package with the loggers of the page, and a job."""
    write_entry_points(tmp_path, "loggers", ENTRY_POINTS)
    mlp(tmp_path)
    return tmp_path


def last_loss(folder: Path) -> float:
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return float([line for line in lines if line["phase"] == "train"][-1]["metrics"]["loss/loss"])


@pytest.mark.peers
def test_mlflow_has_the_metrics_the_job_and_its_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.tracking import MlflowClient

    (folder / "loggers.py").write_text(MLFLOW)
    address = (folder / "mlruns").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    said = run_python(folder, "-c", RUN, "--listener", "mlflow=small nets")
    assert "listener" not in said
    client = MlflowClient(address)
    experiment = client.get_experiment_by_name("small nets")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["train_steps"] == "12"
    history = client.get_metric_history(run.info.run_id, "train/loss/loss")
    assert sorted(point.step for point in history) == list(range(1, 13))
    assert run.data.metrics["train/loss/loss"] == pytest.approx(last_loss(folder))
    assert [each.path for each in client.list_artifacts(run.info.run_id)] == ["job.conf"]


@pytest.mark.peers
def test_weights_and_biases_has_the_run_offline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb  # noqa: F401 - the page's example imports it

    (folder / "loggers.py").write_text(WANDB)
    monkeypatch.setenv("WANDB_MODE", "offline")
    said = run_python(folder, "-c", RUN, "--listener", "wandb=small-nets")
    assert "note: listener" not in said
    (kept,) = (folder / "run" / "wandb").glob("offline-run-*/run-*.wandb")
    content = kept.read_bytes()
    assert all(word in content for word in (b"train/loss/loss", b"small-nets", b"train_steps"))
