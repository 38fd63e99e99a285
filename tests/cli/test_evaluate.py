"""netpart evaluate: prints the metrics of a checkpoint as the run printed them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Netpart
from tests.end2end.running import mlp


@pytest.fixture
def job(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job that was run for 12 steps, in the current folder."""
    monkeypatch.chdir(tmp_path)
    mlp(tmp_path, dtype="FLOAT64")
    assert netpart("run", "mlp.conf", "--launcher", "threads", "--workers", 2).code == 0
    return "mlp.conf"


def test_the_newest_checkpoint_gives_the_last_test(job: str, netpart: Netpart, tmp_path: Path) -> None:
    last = json.loads((tmp_path / "out/mlp/metrics.jsonl").read_text().splitlines()[-1])
    answer = netpart("evaluate", job, "--launcher", "threads", "--workers", 3, "--summary", "sums/e.json")
    assert answer.code == 0
    first, event, shown, *rest = answer.out.splitlines()
    assert "batch 6, phase test after step 12; memory" in first
    metrics = ", ".join(f"{name} = {value:.6f}" for name, value in last["metrics"].items())
    assert event == f"Test @ step 12  {metrics}"
    assert shown == f"      test  {metrics}"
    assert any("between workers, as predicted" in line for line in rest)
    assert json.loads(Path("sums/e.json").read_text())["test"] == pytest.approx(last["metrics"], rel=1e-11)


def test_each_checkpoint_has_its_own_metrics(job: str, netpart: Netpart) -> None:
    told = set()
    for step in (0, 4, 8, 12):
        named = f"out/mlp/checkpoint/step{step:08d}.safetensors"
        answer = netpart("evaluate", job, "--launcher", "threads", "--checkpoint", named)
        assert f"Test @ step {step} " in answer.out
        told.add(answer.out.splitlines()[2])
    assert len(told) == 4


def test_processes_evaluate_too(job: str, netpart: Netpart) -> None:
    threads, processes = (
        netpart("evaluate", job, "--workers", 2, "--workspace", "e", *more)
        for more in (("--launcher", "threads"), ("--transport", "zeromq"))
    )
    assert threads.out.splitlines()[1:3] == processes.out.splitlines()[1:3]
    assert (Path("e") / "log" / "worker-1.log").exists()


KINDS: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: None, "a: expected a checkpoint, got nothing there; check the path"),
    (os.mkfifo, "a: expected a checkpoint, got a pipe"),
    (lambda path: path.symlink_to("/dev/zero"), "a: expected a checkpoint, got a device"),
    (lambda path: path.write_bytes(b""), "a: expected"),
    (lambda path: path.write_bytes(b"\x93NUMPY" * 50), "a: expected a header"),
    (lambda path: path.mkdir(), "a: expected a checkpoint, got a folder"),
]


@pytest.mark.parametrize("verb", [("evaluate",), ("predict", "--rows", 4, "-o", "p.csv")])
@pytest.mark.parametrize(("make", "message"), KINDS)
def test_what_is_no_checkpoint_is_named(
    make: Callable[[Path], object], message: str, verb: tuple[str, ...], job: str, netpart: Netpart
) -> None:
    make(Path("a"))
    answer = netpart(verb[0], job, *verb[1:], "--launcher", "threads", "--checkpoint", "a")
    assert answer.code == 1
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert not Path("p.csv").exists()


def test_a_job_that_was_not_trained_has_no_checkpoint(job: str, netpart: Netpart) -> None:
    answer = netpart("evaluate", job, "--set", "name=other")
    assert (answer.code, answer.out) == (1, "")
    assert "out/other/checkpoint: expected a checkpoint, got none; train with `netpart run`" in answer.err


def test_a_phase_without_steps_is_refused_with_its_place(job: str, netpart: Netpart) -> None:
    answer = netpart("evaluate", job, "--phase", "val")
    assert answer.code == 2
    assert "validate_steps: expected 1 or more, got 0; add it, or write --steps N" in answer.err
