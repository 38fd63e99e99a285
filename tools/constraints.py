"""Writes constraints.txt: the exact versions with which `make env` and continuous integration install.

They are the versions that pip selects today for the extras ``dev`` and ``peers`` together, in a new environment of the
oldest Python that netpart supports: these versions run on newer Pythons too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.throwaway import environment, pip

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "constraints.txt"
OLDEST = (3, 11)
HEAD = "# The exact versions with which `make` installs; `make constraints` writes them anew (see CONTRIBUTING.md).\n"
LEFT_OUT = ("netpart", "pip")


def written(frozen: Iterable[str]) -> Iterator[str]:
    """The constraints of a ``pip freeze``, without local parts of versions (+cpu), which most package indexes lack."""
    for line in sorted(frozen, key=str.lower):
        name, _, version = line.partition("==")
        if version and name not in LEFT_OUT and not line.startswith(("#", "-")):
            yield f"{name}=={re.sub('[+].*', '', version)}"


def main() -> int:
    """Run the command line; return the exit status: 0 done, 2 the wrong Python."""
    if sys.version_info[:2] != OLDEST:
        wanted, got = (".".join(map(str, version)) for version in (OLDEST, sys.version_info[:2]))
        print(f"constraints: expected Python {wanted}, the oldest supported one, got {got};", file=sys.stderr)
        print(f"make VENV=.venv-{wanted} PYTHON=python{wanted} constraints", file=sys.stderr)
        return 2
    with environment("--editable", ".[dev,peers]") as python:
        frozen = pip("--python", str(python), "freeze", "--all")
    FILE.write_text(HEAD + "\n".join(written(frozen.splitlines())) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
