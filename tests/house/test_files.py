"""Habits that show in the files themselves: short, documented, at home on any machine, and never asleep."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import name, parsed, python_files, text_files

LONGEST = 400
MODULES = python_files("netpart")

FOREIGN = re.compile(r"(?<![\w.~])/(?:work|root|home|Users)/\w|pypi[.]org|pythonhoste[d]|index-ur[l]")
"""Paths of one machine and hosts of package registries: neither means anything to the next reader."""


def undocumented(module: ast.Module) -> Iterator[str]:
    public = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in module.body:
        if isinstance(node, public) and not node.name.startswith("_") and not ast.get_docstring(node):
            yield f"{node.name} (line {node.lineno})"


def sleeps(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "sleep":
            yield node.lineno


def foreign(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if FOREIGN.search(line):
            yield f"{name(path)}:{number}: {line.strip()}"


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    module = parsed(path)
    assert ast.get_docstring(module) or not module.body
    assert not list(undocumented(module))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_nothing_names_one_machine_or_one_registry() -> None:
    assert not [line for path in text_files() for line in foreign(path)]


def test_no_test_sleeps() -> None:
    assert not {name(path): lines for path in python_files("tests") if (lines := list(sleeps(parsed(path))))}


def test_these_checks_see_what_they_look_for() -> None:
    assert list(undocumented(ast.parse("def f(): ...\nclass _G: ...\ndef h():\n  'Says so.'"))) == ["f (line 1)"]
    assert list(sleeps(ast.parse("import time\ntime.sleep(1)\nsleep(2)"))) == [2, 3]
    assert FOREIGN.search("see /ho" + "me/me/job.conf")
    assert not FOREIGN.search("https://example.org/work/page ~/home/x")
