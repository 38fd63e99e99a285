"""A floor imports only floors below it, and docs/house.md shows the floors and rooms that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

from tests.house.tree import ROOT

LINTER = Path(sys.executable).with_name("lint-imports")


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINTER, "--no-cache", "--no-logo", "--config", root / "setup.cfg"], cwd=root, capture_output=True, text=True
    )


def floors_of_the_linter() -> list[list[str]]:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = config["importlinter:contract:floors"]["layers"].split("\n")
    return [re.findall(r"\w+", line) for line in lines if line]


def floors_of_the_docs() -> list[list[str]]:
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    block = page.split("## Floors", 1)[1].split("```", 2)[1]
    rows = re.findall(r"^([a-z][\w |]*?)(?:   .*)?$", block, flags=re.MULTILINE)
    return [re.findall(r"\w+", row) for row in rows]


def rooms_of_the_docs() -> list[str]:
    """The folders in the table of rooms, as floor/room; a row without a floor is one more room of the floor above."""
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    section = page.split("## Rooms\n", 1)[1].split("\n## ", 1)[0]
    found, floor = list[str](), ""
    for named, room in re.findall(r"^\| (?:`(\w+)/` )?\| `([\w/]+)/` \|", section, flags=re.MULTILINE):
        floor = named or floor
        found.append(f"{floor}/{room}")
    return found


def rooms_of_the_code() -> list[str]:
    """Every folder within a package of netpart/."""
    files = (path for path in (ROOT / "netpart").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    folders = {path.parent.relative_to(ROOT / "netpart").as_posix() for path in files}
    return [folder for folder in folders if "/" in folder]


def test_no_module_imports_upwards() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


def test_an_import_upwards_is_found(tmp_path: Path) -> None:
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    shutil.copytree(ROOT / "netpart", tmp_path / "netpart", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "netpart" / "errors.py").open("a") as errors:
        errors.write("\nfrom netpart import cli\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    assert "netpart.errors -> netpart.cli" in result.stdout


def test_the_docs_draw_the_floors_that_are_kept() -> None:
    assert floors_of_the_docs() == floors_of_the_linter()


def test_the_docs_list_the_rooms_that_there_are() -> None:
    assert sorted(rooms_of_the_docs()) == sorted(rooms_of_the_code())
