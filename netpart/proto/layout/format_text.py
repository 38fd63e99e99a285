"""Formatting of protobuf text: the author's lines and comments, with netpart's indentation and blanks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from netpart.proto.layout.long_lines import split_words
from netpart.proto.layout.text_lines import TextLine, author_lines
from netpart.proto.layout.words import Role, read_words

WIDTH = 120
"""Columns of a line, without a comment at its end."""
INDENT = "  "


class IndentedLine(NamedTuple):
    """A line with its level of indentation."""

    level: int
    line: TextLine

    @property
    def text(self) -> str:
        """The line without its comment."""
        return INDENT * self.level + self.line.text


def format_text(text: str) -> str:
    """Write ``text``, which is valid protobuf text, in netpart's layout; written again, the result stays the same.

    The order of the fields, breaks between them and all comments are the author's; of several empty lines one is kept.
    Comments at the ends of lines that follow each other stay in one column. Lines of more than WIDTH columns are
    broken, and others are never joined.
    """
    laid = list(_indented_lines(author_lines(text, read_words(text))))
    return "".join(f"{line}\n" for line in _with_gaps(laid, _with_comments(laid)))


def _indented_lines(lines: Sequence[TextLine]) -> Iterator[IndentedLine]:
    """``lines`` and those into which long ones are broken, with their indentation.

    Several brackets that one line opens are one level.
    """
    waiting = deque(lines)
    opened: list[int] = []  # for each open bracket, the number of its line
    number = 0
    while waiting:
        line = waiting.popleft()
        level = _line_level(line, opened)
        broken = split_words(line.words, WIDTH - len(INDENT) * level) if _is_long(line, level) else [line.words]
        if len(broken) > 1:
            rest = [TextLine(list(words)) for words in broken[1:]]
            waiting.extendleft(reversed([replace(line, words=list(broken[0])), *rest]))
            continue
        yield IndentedLine(level, line)
        _follow_brackets(line, number, opened)
        number += 1


def _is_long(line: TextLine, level: int) -> bool:
    return len(IndentedLine(level, line).text) > WIDTH


def _line_level(line: TextLine, opened: Sequence[int]) -> int:
    """The indentation of a line: the lines that have opened a bracket which it does not close at its beginning."""
    closing = next((n for n, word in enumerate(line.words) if not word.closes), len(line.words))
    goes_on = bool(line.words) and line.words[0].role is Role.NEXT_STRING
    return len(set(opened[: len(opened) - closing])) + goes_on


def _follow_brackets(line: TextLine, number: int, opened: list[int]) -> None:
    """Update the open brackets by those of ``line``."""
    for word in line.words:
        if word.opens:
            opened.append(number)
        elif word.closes:
            opened.pop()


def _with_comments(laid: Sequence[IndentedLine]) -> Iterator[str]:
    """The text of each line with its comment."""
    for run in _comment_runs(laid):
        column = max(len(one.text) for one in run) + 1 if run[0].line.words else 0
        for one in run:
            comment = "".join(word.text for word in one.line.comments)
            yield f"{one.text.ljust(column) if run[0].line.words and comment else one.text}{comment}"


def _comment_runs(laid: Sequence[IndentedLine]) -> list[list[IndentedLine]]:
    """The lines in groups: those that follow each other and whose comments are in one column of the source."""
    runs = [[one] for one in laid[:1]]
    for before, one in pairwise(laid):
        same = before.line.column == one.line.column > 0 and not one.line.gap and runs[-1][0].line.words
        if same:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _with_gaps(laid: Sequence[IndentedLine], texts: Iterator[str]) -> Iterator[str]:
    """``texts`` with the empty lines between them; none after an opening bracket and before a closing one."""
    opened = True
    for one, text in zip(laid, texts, strict=True):
        words = one.line.words
        if one.line.gap and not opened and not (words and words[0].closes):
            yield ""
        yield text
        opened = bool(words) and words[-1].opens
