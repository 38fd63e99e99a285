"""docs/plans.md tells the truth: what it shows is what the commands print."""

from __future__ import annotations

import re
import shlex

import pytest

from netpart.cli.main import main
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (netpart .*)\n((?:.*\n)+?)```$", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_of_the_page_prints_what_it_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three dots on a line stand for lines that are left out."""
    monkeypatch.chdir(ROOT)
    main(shlex.split(command)[1:])
    rest = without_memory(capsys.readouterr().out)
    for piece in re.split(r"^\.\.\.\n", without_memory(output), flags=re.MULTILINE):
        assert piece in rest
        rest = rest.split(piece, 1)[1] if piece else rest


def without_memory(text: str) -> str:
    """``text`` without the memory of workers, which includes the workspace of the processor's kernels, and without the
    spaces of columns, which may be as wide as these figures."""
    return re.sub(r"(?m)^(memory [a-z]+( \d+)? |#: worker \d+ .* memory ).*", r"\1", re.sub(" +", " ", text))


def test_the_page_shows_every_verb() -> None:
    assert {command.split()[1] for command, _ in SHOWN} == {"partition", "diff", "explain"}
