"""Sections of docs/data.md do what they say: their files are made, their layers read them, their commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.house.page_package import first_rows, run_python
from tests.house.tree import ROOT

SECTIONS = ("Arrays", "Tokens", "LMDB stores", "CSV files", "Your own store")
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def blocks(section: str, language: str) -> list[str]:
    """The blocks of a section in one language."""
    text = PAGE.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


LAYERS = [block for section in SECTIONS for block in blocks(section, "protobuf")]
COMMANDS = re.findall(r"^netpart data (?:array|kvfile|csv) .*$", PAGE, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page is followed, with the files that it makes."""
    path = tmp_path_factory.mktemp("page")
    for section in SECTIONS:
        for block in blocks(section, "python"):
            (path / "block.py").write_text(block)
            run_python(path, "block.py")
    return path


@pytest.mark.parametrize("block", LAYERS)
def test_a_layer_of_the_page_reads_the_files_of_the_page(block: str, folder: Path) -> None:
    data, label = first_rows(block, folder)
    assert len(data) == 10
    assert data.std() > 0.1
    assert {*np.unique(label)} == {0, 1}


def test_every_section_has_a_layer_and_most_a_command() -> None:
    assert all(blocks(section, "protobuf")[0].startswith("layer {") for section in SECTIONS)
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str, folder: Path) -> None:
    assert "made 50 records" in run_python(folder, "-m", *shlex.split(command))
