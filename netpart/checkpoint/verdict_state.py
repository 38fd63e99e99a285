"""Verdict state: what early_stop, checkpoint_best and kPlateau know, as a checkpoint keeps it in its metadata.

The text is a CRC-32 in 8 hexadecimal digits, a space and JSON: {"version": 1, "judged": {phase: step}, "judges":
{decision: {...}}}. Checkpoints without the entry have no state.
"""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

ENTRY = "verdicts"
"""Name of the entry in the metadata of a checkpoint."""
VERSION = 1


def verdict_state_text(state: dict[str, Any]) -> str:
    """The text that keeps ``state``."""
    text = json.dumps({"version": VERSION} | state)
    return f"{crc32(text.encode()):08x} {text}"


def parse_verdict_state(text: str) -> dict[str, Any]:
    """The inverse of ``verdict_state_text``. Raises ValueError for a text that is damaged, or of another version."""
    found, _, rest = text.partition(" ")
    if found != f"{crc32(rest.encode()):08x}":
        raise ValueError("a text that differs from its checksum")
    try:
        state = json.loads(rest)
    except RecursionError:
        raise ValueError("a text that is too deep") from None
    if not isinstance(state, dict) or state.get("version") != VERSION:
        version = state.get("version") if isinstance(state, dict) else None
        raise ValueError(f"version {version!r:.40}")
    return state
