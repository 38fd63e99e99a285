"""Objects of a command are not looked at by the collector until it ends; a process that goes on gets them back."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from netpart.cli.kept_objects import keep_objects, release_objects
from netpart.cli.main import main

JOB = str(Path(__file__).parents[2] / "graphs/mnist/conv.conf")


def test_what_is_alive_is_kept() -> None:
    with keep_objects():
        assert not gc.isenabled()
        made: list[list[int]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(made)
    release_objects()
    assert gc.get_freeze_count() == 0


def test_a_block_that_fails_keeps_nothing() -> None:
    with pytest.raises(ValueError, match="broken"), keep_objects():
        raise ValueError("broken")
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("verb", ["check", "partition"])
def test_a_process_that_goes_on_gets_its_objects_back(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, JOB, "--workers", "2"]) == 0
    assert "conv1" in capsys.readouterr().out
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
