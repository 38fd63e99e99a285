"""docs/python.md tells the truth: its blocks run one after another, and its table has all functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netpart
from tests.house.page_package import page_blocks
from tests.house.tree import ROOT


@pytest.mark.slow
def test_its_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("graphs", "workers"):
        (tmp_path / name).symlink_to(ROOT / name)
    names = dict[str, object]()
    for block in page_blocks("python.md")["python"]:
        exec(compile(block, "python.md", "exec"), names)


def test_its_table_has_every_function() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    functions = [name for name in netpart.__all__ if name[0].islower() and not name.startswith("_")]
    assert sorted(re.findall(r"^\| `(\w+)\(", page, flags=re.MULTILINE)) == sorted(functions)
