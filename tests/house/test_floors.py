"""A floor imports only floors below it, and the drawing of the floors tells the truth."""

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
