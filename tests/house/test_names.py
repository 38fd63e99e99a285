"""A name means one thing in the house (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.house.tree import ROOT, python_files

Definition = ast.FunctionDef | ast.ClassDef

FAMILIES = {
    "add_verb_parser": "netpart/cli", "run_verb": "netpart/cli", "open_transport": "netpart/transport",
}  # fmt: skip
"""Functions that each member of a family has under the same name, and where these are."""
KERNEL_SETS = ("netpart/kernels", "netpart/kernels/onednn", "netpart/kernels/cuda", "netpart/layers")
"""Where a layer or a verb has a class of the same name: at most one in each."""
MOST_UNDESIGNED = 0
"""Names that are defined more than once without design: this number may only fall."""


@cache
def definitions() -> dict[str, list[tuple[Path, Definition]]]:
    """The functions and classes of netpart at the level of modules, by name."""
    found = defaultdict(list)
    for path in python_files("netpart"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, Definition):
                found[node.name].append((path, node))
    return found


def is_designed(name: str, defined: list[tuple[Path, Definition]]) -> bool:
    """True if ``name`` is meant to be defined in several modules, or is Python's own, such as ``__getattr__``."""
    if name.startswith("__"):
        return True
    folders = [path.parent.relative_to(ROOT).as_posix() for path, _ in defined]
    if name in FAMILIES:
        return all(folder.startswith(FAMILIES[name]) for folder in folders)
    classes = all(isinstance(node, ast.ClassDef) for _, node in defined)
    one_each = len(set(folders)) == len(folders) and set(folders) <= set(KERNEL_SETS)
    return classes and (one_each or name == "Kernels")


def test_a_name_is_defined_once() -> None:
    several = {name: defined for name, defined in definitions().items() if len(defined) > 1}
    wrong = {
        name: sorted(str(path.relative_to(ROOT)) for path, _ in defined)
        for name, defined in several.items()
        if not is_designed(name, defined)
    }
    assert len(wrong) <= MOST_UNDESIGNED, wrong
    assert len(several) < 40, sorted(several)


@cache
def words_by_file() -> dict[Path, frozenset[str]]:
    """The words of every Python file and page."""
    paths = [*python_files("netpart", "tests", "tools", "benchmarks"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    return {path: frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8"))) for path in paths}


def test_a_helper_of_one_file_begins_with_an_underscore() -> None:
    """And so nothing public is without a user."""
    users: dict[str, int] = defaultdict(int)
    for words in words_by_file().values():
        for word in words:
            users[word] += 1
    alone = [
        f"{path.relative_to(ROOT)}: {name}"
        for name, defined in definitions().items()
        for path, node in defined
        if isinstance(node, ast.FunctionDef) and not name.startswith("_") and users[name] < 2
    ]
    assert alone == []
