"""SIGUSR1 asks a run for a checkpoint and an end; resumed, it goes on to the same bits."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from netpart.checkpoint.steps import latest_checkpoint, parse_step
from tests.end2end.running import Run, mlp
from tests.end2end.test_runs import STAGES, compare, saved
from tests.launch.verdict_jobs import PLATEAU, judged_job, play
from tests.thorough import sampled

STEPS = "train_steps=600"
BEST = 'validate_freq: 50 validate_steps: 3 checkpoint_best: "loss/loss"'
CASES: dict[str, tuple[int, tuple[str, ...]]] = {
    "three workers": (3, (STEPS,)),
    "one worker": (1, (STEPS,)),
    "micro-batches": (2, (STEPS, "neuralnet.micro_batches=2")),
}


@pytest.mark.parametrize("case", sampled(list(CASES), len(CASES)))
def test_a_run_that_was_asked_to_end_is_resumed_to_the_same_bits(tmp_path: Path, case: str) -> None:
    workers, settings = CASES[case]
    path = judged_job(tmp_path, BEST, PLATEAU)
    with Run(path, workers, tmp_path / "run", set=list(settings)) as run:
        run.until(lambda told: told.get("step", 0) >= 20)
        run.signal(signal.SIGUSR1)
        assert run.end() == 0
        (told,) = [told for told in run.told if told["kind"] == "Halted"]
    latest = latest_checkpoint(tmp_path / "run" / "checkpoint")
    assert latest is not None
    assert parse_step(latest) == told["step"] < 600
    whole = play(path, tmp_path / "whole", *settings, workers=workers)
    resumed = play(path, tmp_path / "run", "resume=true", *settings, workers=workers)
    assert whole.bytes_counted == whole.bytes_predicted
    assert resumed.bytes_counted == resumed.bytes_predicted
    compare(saved(tmp_path / "run", 600), saved(tmp_path / "whole", 600), 0.0)


@pytest.mark.parametrize("turn", sampled(range(6), 6))
def test_delayed_stages_are_drained_by_all_workers_or_by_none(tmp_path: Path, turn: int) -> None:
    """At any moment, of which there are a few here."""
    path = mlp(tmp_path, train_steps=100_000, disp_freq=10, test_freq=0, checkpoint_freq=0)
    cut = [f"{name}.{field}" for name, k in STAGES.items() for field in (f"location={k}", "partition_dim=-1")]
    with Run(path, 3, tmp_path / "run", set=["neuralnet.schedule=DELAYED", *cut]) as run:
        run.until(lambda told: told["kind"] == "Measured" and told["step"] >= 20 + 10 * turn)
        run.signal(signal.SIGUSR1)
        assert run.end() == 0, run.of("failed")
    (told,) = run.of("Halted")
    latest = latest_checkpoint(tmp_path / "run" / "checkpoint")
    assert latest is not None
    assert parse_step(latest) == told["step"]
