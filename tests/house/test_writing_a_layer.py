"""docs/writing-a-layer.md does what it says: its blocks are put where it puts them, and its commands are run."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from tests.house.page_package import page_blocks, run_python, write_entry_points

BLOCKS = page_blocks("writing-a-layer.md")
TYPE, TEST = BLOCKS["python"]
(JOB,), (ENTRY_POINTS,), (PROJECT,), (COMMANDS,) = (BLOCKS[name] for name in ("protobuf", "ini", "toml", ""))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The package of the page, as it is tried without installing it."""
    write_entry_points(tmp_path, "channel_scale", ENTRY_POINTS)
    (tmp_path / "channel_scale.py").write_text(TYPE)
    (tmp_path / "test_channel_scale.py").write_text(TEST)
    (tmp_path / "job.conf").write_text(JOB)
    return tmp_path


def test_a_type_takes_forty_lines() -> None:
    assert len([line for line in TYPE.splitlines() if line]) <= 40


def test_the_two_ways_to_tell_netpart_say_the_same() -> None:
    project = tomllib.loads(PROJECT)["project"]
    (points,) = project["entry-points"].items()
    assert f"[{points[0]}]" in ENTRY_POINTS
    assert [f"{name} = {value}" for name, value in points[1].items()] == ENTRY_POINTS.splitlines()[1:]


def test_the_type_obeys_the_laws(folder: Path) -> None:
    assert "1 passed" in run_python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_channel_scale.py")


@pytest.mark.parametrize(
    ("command", "words"),
    list(zip(COMMANDS.splitlines(), ["channels 3+3", "They agree: ", "20 steps"], strict=True)),
)
def test_a_command_of_the_page_does_what_it_says(command: str, words: str, folder: Path) -> None:
    assert words in run_python(folder, "-m", *shlex.split(command))
    assert (folder / "out" / "channel-scale" / "checkpoint").is_dir() == (" run " in command)
