"""netpart sample: a text on the terminal or in a file."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from netpart.cli.sample import print_sample
from netpart.threads import THREAD_VARIABLES
from tests.cli.conftest import Netpart
from tests.trained.texts import gpt


@pytest.fixture(autouse=True)
def environment_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")


@pytest.fixture
def job(tmp_path: Path, netpart: Netpart) -> Path:
    """A job that was run for two steps."""
    path = gpt(tmp_path)
    assert netpart("run", path, "--launcher", "threads", "--workspace", tmp_path / "out").code == 0
    return path


def test_the_newest_checkpoint_of_the_workspace_writes(job: Path, tmp_path: Path, netpart: Netpart) -> None:
    first, again, other = (
        netpart("sample", job, "--bytes", 20, "--prompt", "the ", *more)
        for more in ((), ("--checkpoint", tmp_path / "out/checkpoint/step00000002.safetensors"), ("--seed", 5))
    )
    assert first.code == 0
    assert first.out == again.out != other.out
    assert first.out.startswith("the ")


def test_bytes_go_to_a_file_as_they_are(job: Path, tmp_path: Path, netpart: Netpart) -> None:
    prompt, target = tmp_path / "prompt", tmp_path / "text"
    prompt.write_bytes(b"\xff\xfethe ")
    assert netpart("sample", job, "--bytes", 20, "--prompt-file", prompt, "--top-k", 3, "-o", target).out == ""
    assert target.read_bytes().startswith(prompt.read_bytes())
    assert target.stat().st_size == 26


def test_what_is_no_text_is_shown_as_such() -> None:
    out = StringIO()
    print_sample("à".encode()[:1], iter("à".encode()[1:] + b"\xff!\xc3"), out)
    assert out.getvalue() == "à\ufffd!\ufffd\n"


def test_a_job_that_was_not_run_is_told_what_to_do(tmp_path: Path, netpart: Netpart) -> None:
    answer = netpart("sample", gpt(tmp_path))
    assert answer.code == 1
    assert "out/checkpoint: expected a checkpoint, got none; train with `netpart run`" in answer.err


@pytest.mark.parametrize("value", ["-1", "warm", "nan", "inf"])
def test_a_temperature_is_a_number(tmp_path: Path, value: str, netpart: Netpart) -> None:
    answer = netpart("sample", gpt(tmp_path), f"--temperature={value}")
    assert answer.code == 2
    assert "expected a number of 0 or more" in answer.err
