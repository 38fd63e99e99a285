"""Collection of all mistakes in a job's text: after each one the wrong field is blanked and the text parsed again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile

from google.protobuf import text_format
from google.protobuf.text_format import ParseError

from netpart.errors import ConfigError, JobError, combine_faults
from netpart.proto.formats import other_format_error
from netpart.proto.job_pb2 import JobProto
from netpart.proto.mistakes import diagnose_error, find_error_context, outer_block_hint
from netpart.proto.positions import Token, tokenize_text

MOST = 50
"""Maximum number of mistakes that are collected: the text is parsed again for each."""
LARGE = 1 << 20
"""Length in characters from which only one mistake is reported: parsing again would take too long."""
OPEN = {"{": "}", "<": ">", "[": "]"}


def collect_mistakes(text: str, file: str) -> JobError:
    """The mistakes of ``text``, which is not a valid JobProto, with their positions; one if it is in another format."""
    return other_format_error(text, file) or combine_faults(
        islice(_each_mistake(text, file), MOST if len(text) < LARGE else 1)
    )


def _each_mistake(text: str, file: str) -> Iterator[ConfigError]:
    """The mistakes of ``text`` in order, up to the first that cannot be blanked."""
    last, rest = (0, 0), text
    while error := _parse_error(rest):
        found = diagnose_error(error, rest, file)
        place = error.GetLine() or 1, error.GetColumn() or 1
        if place <= last:  # the parser got no further: nothing was blanked, or the blanking caused a new mistake
            return
        yield found
        last = place
        rest = _blank_mistake(rest, *place)


def _parse_error(text: str) -> ParseError | None:
    """The error of parsing ``text`` as a JobProto, None if it is valid."""
    try:
        text_format.Parse(text, JobProto())
    except ParseError as error:
        return error
    return None


def _blank_mistake(text: str, line: int, column: int) -> str:
    """``text`` with blanks in place of the field at a position; unchanged if more than this field is wrong there."""
    # Blanks, and not a deletion: all positions after the field stay those of the original text.
    known = list(tokenize_text(text))
    k = bisect_left(known, (line, column), key=lambda token: (token.line, token.column))
    if k == len(known) or outer_block_hint(find_error_context(text, line, column), known[k].text):
        return text
    first = _field_start(known, k)
    last = None if first is None else _field_end(known, first)
    return text if first is None or last is None else _blank_tokens(text, known[first], known[last])


def _field_start(known: Sequence[Token], k: int) -> int | None:
    """The index of the name of the field whose name or value is token ``k``; None if it is not found."""
    if _token_text(known, k + 1) in (":", "{", "<"):
        return k
    if _token_text(known, k - 1) == "[" and _token_text(known, k - 2) != ":":
        return k - 1
    before = takewhile(lambda j: known[j].text not in ("{", "}", "<", ">"), range(k - 1, 0, -1))
    return next((j - 1 for j in before if known[j].text == ":"), None)


def _field_end(known: Sequence[Token], first: int) -> int | None:
    """The index of the last token of the field that begins at ``first`` with its name, or the ``[`` of an extension.

    None if the field has no end.
    """
    at = _closing_bracket(known, first) if known[first].text == "[" else first
    if at is None:
        return None
    at += 2 if _token_text(known, at + 1) == ":" else 1
    if _token_text(known, at) in ("", "}", ">"):
        return None
    while _token_text(known, at + 1) == ".":  # nn.Linear
        at += 2
    return _closing_bracket(known, at) if known[at].text in OPEN else min(at, len(known) - 1)


def _closing_bracket(known: Sequence[Token], at: int) -> int | None:
    """The index of the bracket that closes the one at ``at``; None if none does."""
    waiting: list[str] = []
    for k in range(at, len(known)):
        if known[k].text in OPEN:
            waiting.append(OPEN[known[k].text])
        elif waiting and known[k].text == waiting[-1]:
            waiting.pop()
        if not waiting:
            return k
    return None


def _token_text(known: Sequence[Token], k: int) -> str:
    """The text of token ``k``, "" beyond both ends."""
    return known[k].text if 0 <= k < len(known) else ""


def _blank_tokens(text: str, first: Token, last: Token) -> str:
    """``text`` with blanks from token ``first`` to token ``last``, line ends kept."""
    starts = [0, *accumulate(len(row) + 1 for row in text.split("\n"))]
    lo, hi = (starts[token.line - 1] + token.column - 1 for token in (first, last))
    hi += len(last.text)
    return text[:lo] + "".join(c if c == "\n" else " " for c in text[lo:hi]) + text[hi:]
