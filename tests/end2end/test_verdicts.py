"""A run that judges its validations is killed at any moment, and goes on to the same decisions and values."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from netpart.checkpoint.steps import latest_checkpoint
from tests.end2end.running import SOON, Run
from tests.end2end.test_runs import compare, saved
from tests.launch.verdict_jobs import PLATEAU, VALIDATED, decisions, judged_job, play

SETTINGS = f'{VALIDATED} checkpoint_best: "loss/loss" early_stop {{ patience: 120 }}'
SERVERS = ("cluster.server_worker_separate=true", "cluster.nservers_per_group=2")
ENDS = {"workers": (), "servers": SERVERS}


@pytest.mark.thorough
@pytest.mark.parametrize(("step", "cluster"), [(100, "servers"), (30, "workers"), (7, "workers")])
def test_kill_9_of_the_parent_and_resume(tmp_path: Path, step: int, cluster: str) -> None:
    settings = ("train_steps=4000", *ENDS[cluster])
    path = judged_job(tmp_path, SETTINGS, PLATEAU.replace("least_lr: 0.004", ""))
    whole = play(path, tmp_path / "whole", *settings, workers=2)
    assert 200 < whole.steps < 400
    with Run(path, 2, tmp_path / "run", set=list(settings)) as run:
        run.until(lambda told: told.get("step", 0) >= step)
        run.signal(signal.SIGKILL)
        run.await_workers(SOON)
        assert run.end() == -signal.SIGKILL
    assert latest_checkpoint(tmp_path / "run" / "checkpoint") is not None
    other = play(path, tmp_path / "run", "resume=true", *settings, workers=2)
    assert other.stopped == whole.stopped
    compare(saved(tmp_path / "run", whole.steps), saved(tmp_path / "whole", whole.steps), 0.0)
    assert decisions(tmp_path / "run", "stop") == decisions(tmp_path / "whole", "stop")
    best = (tmp_path / name / "checkpoint" / "best.safetensors" for name in ("run", "whole"))
    one, two = (file.read_bytes() for file in best)
    assert one == two
