"""The command line of a tool that generates committed files: it writes them, or with --check names stale ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence


def run(
    tool: str, description: str, stale: Callable[[], Sequence[str]], write: Callable[[], None],
    arguments: Sequence[str] | None, trouble: Callable[[bool], str] = lambda checks: "",
) -> int:  # fmt: skip
    """Call ``write``, or with --check print the names of ``stale`` files; neither if ``trouble`` returns a reason.

    Returns the exit status: 0 done or up to date, 1 stale, 2 trouble.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tools.{tool}", description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something is stale")
    options = parser.parse_args(arguments)
    if why := trouble(options.check):
        print(f"{tool}: {why}", file=sys.stderr)
        return 2
    if not options.check:
        write()
        return 0
    if names := stale():
        print(f"{tool}: stale: {', '.join(names)}; run python -m tools.{tool}", file=sys.stderr)
    return int(bool(names))
