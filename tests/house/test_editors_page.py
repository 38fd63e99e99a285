"""docs/editors.md tells the truth: its commands print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from netpart.cli.main import main
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (netpart .*)\n((?:.*\n)+?)```$", PAGE, flags=re.MULTILINE)
LOOSE = "name : 'loose' # a job\n"


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_its_commands_print_what_it_shows(
    command: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three dots stand for more lines."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loose.conf").write_text(LOOSE)
    assert main(shlex.split(command)[1:]) == (1 if "--check" in command else 0)
    assert capsys.readouterr().out.startswith(output.removesuffix("...\n"))
