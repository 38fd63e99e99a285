"""What a verb says beside its result."""

from __future__ import annotations

import sys


def print_note(text: str) -> None:
    """Says something beside the result: on stderr, so that the result can be piped."""
    print(text, file=sys.stderr, flush=True)
