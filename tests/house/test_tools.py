"""Format, lint and types are clean, tests included. `make lint` reports the same, sooner."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.tree import ROOT


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["ruff format --check", "ruff check", "mypy"])
def test_a_tool_has_nothing_to_say(command: str) -> None:
    result = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
