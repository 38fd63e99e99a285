"""docs/extending.md does what it says: its package is put where it says, and its commands are run."""

from __future__ import annotations

import csv
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest

from netpart import families
from netpart.registry import Registry
from tests.house.page_package import page_blocks, run_python, write_entry_points
from tests.house.tree import ROOT

BLOCKS = page_blocks("extending.md")
(PACKAGE,), (JOB,), (ENTRY_POINTS,), (COMMANDS,) = (BLOCKS[name] for name in ("python", "protobuf", "ini", ""))
WORDS = [["They agree: "], ["location"], ["products on neurons"], ["40 steps", "tensors through patient-zeromq"]]
"""What each command prints."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, as it is tried without installing it."""
    folder = tmp_path_factory.mktemp("extras")
    write_entry_points(folder, "extras", ENTRY_POINTS)
    (folder / "extras.py").write_text(PACKAGE)
    (folder / "job.conf").write_text(JOB)
    return folder


def test_every_family_has_its_row_and_its_example() -> None:
    groups = {family.group for family in vars(families).values() if isinstance(family, Registry)}
    rows = set(re.findall(r"^\| `(netpart\.\w+)` \|", (ROOT / "docs/extending.md").read_text(), flags=re.MULTILINE))
    points = ConfigParser(delimiters=("=",))
    points.read_string(ENTRY_POINTS)
    assert rows == groups | {"netpart.layers"}
    assert set(points.sections()) == groups


def test_the_commands_of_the_page_do_what_it_says(folder: Path) -> None:
    for command, words in zip(COMMANDS.splitlines(), WORDS, strict=True):
        said = run_python(folder, "-m", *shlex.split(command))
        assert all(word in said for word in words), said
    lines = (folder / "out" / "extras" / "losses.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.reader(lines))
    assert [row[:2] for row in rows] == [["train", str(step)] for step in (10, 20, 30, 40)]
    assert float(rows[-1][2]) < float(rows[0][2])


def test_a_package_that_takes_a_name_of_netpart_is_refused(folder: Path, tmp_path: Path) -> None:
    write_entry_points(tmp_path, "greedy", "[netpart.updaters]\nkSGD = extras:SignSGD\n")
    code = (
        "from netpart.errors import ConfigError\nfrom netpart.families import UPDATERS\n"
        "try: UPDATERS.get('kAdam')\nexcept ConfigError as error: print(error)"
    )
    said = run_python(tmp_path, "-c", code)
    assert "updater type kSGD: expected one thing of that name, got netpart.updaters.sgd:SGD and extras:SignSGD" in said
