"""Breaks of lines that are too long: between fields first, then within a block, then between the elements of a list."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.proto.layout.text_lines import words_text
from netpart.proto.layout.words import Role, Word


def split_words(words: Sequence[Word], width: int) -> list[Sequence[Word]]:
    """The lines of ``words``, which are wider than ``width`` on one; a single one if there is no place for a break."""
    ends = _closing_words(words)
    fields = _outer_fields(words, ends)
    return fields if len(fields) > 1 else _split_field(words, ends, width)


def _closing_words(words: Sequence[Word]) -> dict[int, int]:
    """The index of each opening bracket that is closed among ``words``, and that of its closing one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, word in enumerate(words):
        if word.opens:
            opened.append(at)
        elif word.closes and opened:
            found[opened.pop()] = at
    return found


def _outer_fields(words: Sequence[Word], ends: dict[int, int]) -> list[Sequence[Word]]:
    """The fields of ``words`` that are in no block of them, and the brackets of blocks that go beyond them."""
    found: list[Sequence[Word]] = []
    start = at = 0
    while at < len(words):
        opens_rest = words[at].opens and at not in ends
        at = ends.get(at, at) + 1
        if at == len(words) or opens_rest or _begins_field(words[at - 1], words[at]):
            found.append(words[start:at])
            start = at
    return found


def _begins_field(before: Word, word: Word) -> bool:
    """True for a name, the end of a block, and a block that is an element of a list."""
    return word.role in (Role.NAME, Role.CLOSE_BLOCK) or (word.role is Role.OPEN_BLOCK and before.role is not Role.NAME)


def _split_field(words: Sequence[Word], ends: dict[int, int], width: int) -> list[Sequence[Word]]:
    """One field: the lines of its block, or as many elements of its list as fit and then the others."""
    first = min(ends, default=0)
    inside = words[first + 1 : ends.get(first, 0)]
    if inside and any(word.role is Role.OPEN_BLOCK for word in words[first : first + 2]):
        return [words[: first + 1], inside, words[ends[first] :]]
    places = [at for at, word in enumerate(words) if at and word.role in (Role.ELEMENT, Role.NEXT_STRING)]
    fitting = [at for at in places if len(words_text(words[:at])) <= width]
    at = (fitting or places or [0])[-1 if fitting else 0]
    return [words[:at], words[at:]] if at else [words]
