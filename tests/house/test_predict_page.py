"""docs/predict.md tells the truth: its commands run in its order, and print what it shows, up to measured numbers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from netpart.cli.main import main
from netpart.threads import THREAD_VARIABLES
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "predict.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```\n\$ (netpart .*)\n((?:.*\n)+?)```$", PAGE, flags=re.MULTILINE)


def without_numbers(text: str) -> str:
    """``text`` with N for numbers that depend on the machine: times, memory, the last digits of metrics, threads."""
    text = re.sub(r"[\d.]+ (ms|s|KiB)\b", "N", text)
    return re.sub(r"= \d\.\d+|\b\w+ kernels|1( \+ 1)* threads?", "N", text)


def test_its_commands_print_what_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three dots on a line stand for lines that are left out."""
    monkeypatch.chdir(tmp_path)
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    (tmp_path / "graphs").symlink_to(ROOT / "graphs")
    assert [command.split()[1] for command, _ in SHOWN] == ["run", "evaluate", "predict", "predict"]
    for command, output in SHOWN:
        assert main(shlex.split(command)[1:]) == 0
        rest = without_numbers(capsys.readouterr().out)
        for piece in re.split(r"^\.\.\.\n", without_numbers(output), flags=re.MULTILINE):
            assert piece in rest
            rest = rest.split(piece, 1)[1] if piece else rest
    shown = re.findall(r"^\d,.*$", PAGE, flags=re.MULTILINE)
    found = (tmp_path / "out" / "classes.csv").read_text().splitlines()
    assert found[0] == "row,class,probability"
    for line, wanted in zip(found[1:], shown, strict=True):
        assert line.split(",")[:2] == wanted.split(",")[:2]
        assert float(line.split(",")[2]) == pytest.approx(float(wanted.split(",")[2]), abs=1e-4)
    assert np.load(tmp_path / "out" / "hidden.npy").shape == (1000, 128)
    names = dict[str, object]()
    for block in PYTHON:
        exec(compile(block, "predict.md", "exec"), names)
