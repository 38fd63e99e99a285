"""Lines of a text: the author's, as far as breaks between words are allowed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from netpart.proto.layout.words import Role, Word


@dataclass
class TextLine:
    """Words of one line and the comments at its end.

    ``gap``: there is an empty line above it. ``column`` is that of its last comment in the source, 0 if it has none or
    if words followed it there.
    """

    words: list[Word] = field(default_factory=list)
    comments: list[Word] = field(default_factory=list)
    gap: bool = False
    column: int = 0

    @property
    def text(self) -> str:
        """The words with the blanks between them."""
        return words_text(self.words)


def author_lines(text: str, words: Sequence[Word]) -> list[TextLine]:
    """The lines of ``words``, which are those of ``text``.

    A line begins where the author began one, but not between a name and its value. A line has one comment: of several,
    all but the last become lines of their own above it.
    """
    source = text.split("\n")
    found: list[TextLine] = []
    last = Word("", Role.CLOSE_BLOCK, 0, 0)
    for word in words:
        inside = last.role is Role.NAME
        if not found or (word.line > last.line and not inside):
            found.append(TextLine(gap=word.line > 1 and not source[word.line - 2].strip()))
        line = found[-1]
        if word.role is Role.COMMENT:
            line.comments.append(word)
            line.column = word.column
            last = last if inside else last._replace(line=word.line)
        else:
            line.words.append(word)
            line.column, last = 0, word
    return [single for line in found for single in _with_one_comment(line)]


def _with_one_comment(line: TextLine) -> Iterator[TextLine]:
    """``line`` below its comments, the last of which it keeps."""
    for comment in line.comments[:-1]:
        yield TextLine([], [comment], line.gap)
        line.gap = False
    yield TextLine(line.words, line.comments[-1:], line.gap, line.column)


def words_text(words: Sequence[Word]) -> str:
    """``words`` with a blank between two, but none inside the brackets of a list and in an empty block."""
    texts = [word.text + " " * _is_apart(word, after) for word, after in pairwise(words)]
    return "".join([*texts, *(word.text for word in words[-1:])])


def _is_apart(word: Word, after: Word) -> bool:
    """True if there is a blank between two words."""
    empty = word.role is Role.OPEN_BLOCK and after.role is Role.CLOSE_BLOCK
    return not (empty or word.role is Role.OPEN_LIST or after.role is Role.CLOSE_LIST)
