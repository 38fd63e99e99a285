"""Labels of samples in tar files: a whole number as text, or a field of a JSON object."""

from __future__ import annotations

import json
from typing import Any

from netpart.data.images.image_table import MOST, is_label
from netpart.errors import DataError

LARGEST_LABEL = 1 << 20
"""Largest number of bytes of a member with a label."""


def parse_tar_label(content: bytes, suffix: str, json_field: str, who: str) -> tuple[int, ...]:
    """The labels in a member of a tar file. Raises DataError, with ``who``, if it has no valid label."""
    found = _json_labels(content, json_field, who) if suffix.endswith("json") else [_text_label(content)]
    if not found or not all(type(label) is int and 0 <= label <= MOST for label in found):
        got = repr(content[:40].decode(errors="replace"))
        raise DataError(f"{who}: expected a class from 0 to {MOST}, got {got}; correct it, or name another suffix")
    return tuple(found)


def _text_label(content: bytes) -> int | None:
    text = content[:40].decode(errors="replace").strip()
    return int(text) if is_label(text) and len(content) <= 40 else None


def _json_labels(content: bytes, field: str, who: str) -> list[Any]:
    """The value of a field, or the values of its list."""
    try:
        parsed = json.loads(content)
        found = parsed[field]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        wanted = f"a JSON object with a field {field!r}"
        raise DataError(f"{who}: expected {wanted}, got {type(error).__name__}: {error}; correct it") from error
    return list(found) if isinstance(found, list) else [found]
