from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import (
    latest_checkpoint,
    list_checkpoints,
    parse_step,
    remove_checkpoint,
    remove_partial_files,
    step_file,
    updater_file,
)
from netpart.errors import DataError


@given(st.integers(0, 10**12))
def test_a_name_says_its_step(step: int) -> None:
    assert parse_step(step_file(Path("folder"), step)) == step


def test_names_sort_as_steps_do() -> None:
    assert step_file(Path("a"), 100) == Path("a/step00000100.safetensors")
    assert step_file(Path("a"), 99).name < step_file(Path("a"), 100).name


@pytest.mark.parametrize(
    "name", ["step1.safetensors", "step00000001", "step00000001.safetensors.partial", "mystep00000001.safetensors"]
)
def test_other_names_say_none(name: str) -> None:
    with pytest.raises(DataError, match=r"expected a name like step00000100\.safetensors, got"):
        parse_step(Path(name))


def test_the_latest_is_the_highest_finished_step(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path / "none") is None
    assert latest_checkpoint(tmp_path) is None
    for step in (9, 100_000_000, 20):
        step_file(tmp_path, step).touch()
    (tmp_path / "step999999999.safetensors.partial").touch()
    (tmp_path / "note.txt").touch()
    assert latest_checkpoint(tmp_path) == step_file(tmp_path, 100_000_000)


def test_checkpoints_go_by_their_steps(tmp_path: Path) -> None:
    for step in (9, 100_000_000, 20):
        step_file(tmp_path, step).touch()
    assert list_checkpoints(tmp_path) == [step_file(tmp_path, step) for step in (9, 20, 100_000_000)]
    with pytest.raises(DataError, match="expected a folder of checkpoints, got file name too long"):
        latest_checkpoint(tmp_path / ("x" * 300))


def test_a_checkpoint_is_removed_with_its_updater(tmp_path: Path) -> None:
    for step in (9, 20):
        step_file(tmp_path, step).touch()
        updater_file(step_file(tmp_path, step)).touch()
    remove_checkpoint(step_file(tmp_path, 9))
    remove_checkpoint(step_file(tmp_path, 10))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step00000020.safetensors", "step00000020.updater"]


def test_only_half_written_checkpoints_are_swept_away(tmp_path: Path) -> None:
    kept = ["step00000020.safetensors", "mine.partial", "step00000020.partial", "xstep00000020.updater.partial"]
    for name in [*kept, "step00000030.safetensors.partial", "step00000030.updater.partial"]:
        (tmp_path / name).touch()
    remove_partial_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    remove_partial_files(tmp_path / "none")


def test_a_pipe_and_a_folder_are_no_checkpoints(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, got in ((tmp_path / "pipe", "a pipe"), (tmp_path, "a folder"), ("/dev/zero", "a device")):
        with pytest.raises(DataError, match=f"expected a checkpoint, got {got}"):
            open_checkpoint(Path(path))
