"""Notes that a verb prints in addition to its result."""

from __future__ import annotations

import sys

from netpart.cli.progress_line import CLEAR


def print_note(text: str) -> None:
    """Print ``text`` to stderr, so that stdout holds nothing but the result and can be piped."""
    # On a terminal the line may show progress.
    if sys.stderr.isatty():
        text = CLEAR + text
    print(text, file=sys.stderr, flush=True)
