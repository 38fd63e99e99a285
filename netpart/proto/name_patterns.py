"""Patterns of layers' names: ``b*-query``, in which * stands for any characters and ? for one."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def is_name_pattern(text: str) -> bool:
    """True if ``text`` is a pattern and not a plain name."""
    return "*" in text or "?" in text


def matching_names(pattern: str, names: Iterable[str]) -> list[str]:
    """The ``names`` that ``pattern`` matches; brackets stand for themselves."""
    plain = pattern.replace("[", "[[]")
    return [name for name in names if fnmatchcase(name, plain)]
