"""Shared code of the tools that fill pages with results of benchmarks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from netpart.units import plural_text
from tools import command

ROOT = Path(__file__).resolve().parents[1]
RESULTS = "benchmarks/results"
TABLE = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""The place of a table: a tool writes the text between the two lines."""

Json = dict[str, Any]


def filled(page: str, table: Callable[[str], str]) -> str:
    """``page`` with its tables as ``table`` has them, by their names."""
    return TABLE.sub(lambda found: found[1] + table(found[2]) + found[3], page)


def results(root: Path, name: str) -> Json | None:
    """The results of a benchmark; None if it has not been run."""
    path = root / RESULTS / f"{name}.json"
    if not path.exists():
        return None
    found: Json = json.loads(path.read_text(encoding="utf-8"))
    return found


def missing(name: str, command: str = "") -> str:
    """The sentence in place of results of benchmark ``name``, which has not been run: by make, or by ``command``."""
    return f"Not measured yet: `{command or f'make bench-{name}'}`.\n"


def about(found: Json) -> str:
    """The conditions of the figures, in one line."""
    machine, versions = found["machine"], found["versions"]
    packages = ", ".join(f"{package} {version}" for package, version in versions.items() if package != "system")
    return f"{found['date']}, {machine['processor']}, {plural_text(machine['cores'], 'core')}; {packages}."


def keep(tool: str, fresh: Callable[[Path], Mapping[str, str]], arguments: list[str] | None) -> int:
    """The command line of a tool that writes the files ``fresh`` of a root: 0 done or up to date, 1 stale."""

    def stale() -> list[str]:
        return [name for name, content in fresh(ROOT).items() if content != present(ROOT / name)]

    def write() -> None:
        for name, content in fresh(ROOT).items():
            if content != present(ROOT / name):
                (ROOT / name).write_text(content, encoding="utf-8")

    return command.run(tool, "Fills a page with results.", stale, write, arguments)


def present(path: Path) -> str | None:
    """The content of a file; None if it does not exist."""
    return path.read_text(encoding="utf-8") if path.exists() else None
