"""docs/verify.md tells the truth: what it shows is what the command prints, but for the figures that rounding makes."""

from __future__ import annotations

import re
import shlex

import pytest

from netpart.cli.main import main
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (netpart .*)\n((?:.*\n)+?)```$", PAGE, flags=re.MULTILINE)
ROUNDED = {"relative", "absolute", "ULP", "largest in"}
"""Columns that may differ where another processor, or another BLAS, adds in another order."""


def lasting(output: str) -> list[list[str]]:
    """The lines of an output, cell by cell, without those that rounding makes."""
    lines = [re.split(r" {2,}", line) for line in output.splitlines()]
    gone = {i for i, name in enumerate(lines[2]) if name in ROUNDED}
    table = [[cell for i, cell in enumerate(line) if i not in gone] for line in lines[2:-2]]
    return [lines[0], *table, [re.sub("largest difference [^,]*", "", lines[-1][0])]]


def test_the_page_shows_a_cut_and_all_schemes() -> None:
    assert [len(lasting(output)) for _, output in SHOWN] == [1 + 8 + 1, 1 + 10 + 1]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_of_the_page_prints_what_it_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)[1:]) == 0
    assert lasting(capsys.readouterr().out) == lasting(output)
