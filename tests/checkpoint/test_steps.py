from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.steps import latest, parse_step, step_file
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
    assert latest(tmp_path / "none") is None
    assert latest(tmp_path) is None
    for step in (9, 100_000_000, 20):
        step_file(tmp_path, step).touch()
    (tmp_path / "step999999999.safetensors.partial").touch()
    (tmp_path / "note.txt").touch()
    assert latest(tmp_path) == step_file(tmp_path, 100_000_000)
