"""A run that would train nothing is refused, with the next step to take; --steps 0 saves the initial values."""

from __future__ import annotations

from pathlib import Path

import pytest

import netpart as api
from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.errors import ConfigError
from tests.cli.conftest import JOB, Netpart

NO_LOSS = JOB[: JOB.index('  layer {\n    name: "loss"')] + "}\n"
NO_STEPS = JOB.replace("train_steps: 2\n", "")


@pytest.fixture
def write(tmp_path: Path) -> Path:
    """Where a job is written."""
    return tmp_path / "job.conf"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (NO_LOSS, ":4:1: neuralnet: expected a loss to train by, got none; add a kSoftmaxLoss or kEuclideanLoss; "),
        (NO_STEPS, ":1:1: train_steps: expected the number of training steps, got none; write train_steps: 1000, say"),
    ],
)
def test_a_run_that_trains_nothing_is_refused(text: str, says: str, write: Path, netpart: Netpart) -> None:
    write.write_text(text)
    places = "--launcher", "threads", "--workspace", write.parent / "ws"
    answer = netpart("run", write, *places)
    assert answer.err.startswith(f"error: {write}{says}")
    assert (answer.code, answer.out) == (2, "")
    assert not list((write.parent / "ws").rglob("*.safetensors"))
    with pytest.raises(ConfigError, match=r"expected (a loss|the number of training steps)"):
        api.run(write, launcher="threads", workspace=write.parent)
    warned = netpart("check", write)
    assert warned.code == 0
    assert f"warning: {write}{says}" in warned.out
    assert "; `netpart run` refuses the job" in warned.out


@pytest.mark.parametrize("text", [NO_LOSS, NO_STEPS])
def test_steps_0_saves_the_initial_values_and_says_so(text: str, write: Path, netpart: Netpart) -> None:
    write.write_text(text)
    answer = netpart("run", write, "--launcher", "threads", "--steps", 0, "--workspace", write.parent / "ws")
    assert answer.code == 0
    saved = write.parent / "ws" / "checkpoint" / "step00000000.safetensors"
    assert f"checkpoint  {saved}: initial values, as no step was trained\n" in answer.out
    with open_checkpoint(saved) as found:
        assert set(found.tensors) == {"conv/w", "conv/b", "ip/w", "ip/b"}


def test_a_number_of_steps_on_the_command_line_will_do(write: Path, netpart: Netpart) -> None:
    write.write_text(NO_STEPS)
    answer = netpart("run", write, "--launcher", "threads", "--steps", 1, "--workspace", write.parent / "ws")
    assert answer.code == 0
    assert "initial values" not in answer.out


def test_a_checkpoint_that_is_resumed_is_no_initial_value(write: Path, netpart: Netpart) -> None:
    write.write_text(NO_STEPS)
    places = "--launcher", "threads", "--workspace", write.parent / "ws"
    assert netpart("run", write, "--steps", 1, *places).code == 0
    answer = netpart("run", write, "--steps", 0, "--resume", *places)
    assert "initial values" not in answer.out
