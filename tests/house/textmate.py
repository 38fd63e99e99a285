"""The part of a TextMate engine that the grammar in editors/ needs: patterns, and strings with patterns in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

Coloured = tuple[int, int, str]
"""Where a word begins and ends in its line, counted from 0, and its scope."""


def coloured_words(patterns: Sequence[dict[str, Any]], line: str, start: int = 0) -> Iterator[Coloured]:
    """The words of one line with their scopes; blanks and what no pattern matches are left out."""
    while found := _leftmost(patterns, line, start):
        pattern, word = found
        start = word.end()
        if "end" in pattern:
            start = _string_end(pattern, line, start)
        yield word.start(), start, pattern["name"]


def _leftmost(patterns: Sequence[dict[str, Any]], line: str, start: int) -> tuple[dict[str, Any], re.Match[str]] | None:
    """The pattern that matches first in the line, and its match; of several at one place the first one."""
    found = [
        (pattern, re.compile(pattern.get("match") or pattern["begin"]).search(line, start)) for pattern in patterns
    ]
    matched = [(pattern, word) for pattern, word in found if word]
    return min(matched, key=lambda each: each[1].start(), default=None)


def _string_end(pattern: dict[str, Any], line: str, start: int) -> int:
    """Where the string ends that began before ``start``: escapes in it are skipped."""
    ends = {"match": pattern["end"], "name": "end"}
    for _, stop, name in coloured_words([ends, *pattern["patterns"]], line, start):
        if name == "end":
            return stop
    return len(line)
