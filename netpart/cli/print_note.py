"""Notes that a verb prints in addition to its result."""

from __future__ import annotations

import sys


def print_note(text: str) -> None:
    """Print ``text`` to stderr, so that stdout holds nothing but the result and can be piped."""
    print(text, file=sys.stderr, flush=True)
