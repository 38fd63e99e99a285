"""Objects of a command are not looked at by the collector until it ends; a process that goes on gets them back."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.graph.partition import keep_objects

JOB = str(Path(__file__).parents[2] / "graphs/mnist/conv.conf")


def test_what_is_alive_is_kept() -> None:
    with keep_objects():
        assert not gc.isenabled()
        made: list[list[int]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(made)
    gc.unfreeze()
    assert gc.get_freeze_count() == 0


def test_a_block_that_fails_keeps_nothing() -> None:
    with pytest.raises(ValueError, match="broken"), keep_objects():
        raise ValueError("broken")
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("words", ["check", "partition", "simulate --by flops --steps 1 --link 50e-6,1e9"])
def test_a_process_that_goes_on_gets_its_objects_back(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    unfreeze = gc.unfreeze
    monkeypatch.setattr(gc, "unfreeze", lambda: kept.append(gc.get_freeze_count()))
    verb, *options = words.split()
    assert main([verb, JOB, "--workers", "2", *options]) == 0
    unfreeze()
    assert kept[0] > 1000
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
