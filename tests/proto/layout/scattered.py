"""Random jobs in texts that nobody would write: any breaks and separators, and comments between any words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, cast

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.proto.fields import is_repeated, message_descriptor
from netpart.proto.job_pb2 import JobProto
from netpart.proto.positions import Token, tokenize_text

DEPTH = 4
"""Blocks within blocks."""
WORDS = ("", "x", "a b", "it's", 'say "so"', "# none", "{", "}]", "back\\slash", "ü → ß", "tab\t", "x" * 90)
GAPS = (" ", " ", " ", "  ", "\n", "\n\n", "\n\n\n\n", "\t", " \r\n ", "\n      ")


def random_job(draw: Random) -> JobProto:
    """A job with a few fields of any kind; most are no job that could run."""
    job = JobProto()
    _fill(job, draw, DEPTH)
    return job


def _fill(message: Message, draw: Random, depth: int) -> None:
    """Give values to some fields of ``message``, and to all that it requires."""
    fields = list(message_descriptor(message).fields)
    for field in draw.sample(fields, min(len(fields), draw.randint(1, 5))):
        if field.message_type and depth:
            for _ in range(draw.randint(1, 3) if is_repeated(field) else 1):
                held = getattr(message, field.name)
                _fill(held.add() if is_repeated(field) else held, draw, depth - 1)
        elif not field.message_type and is_repeated(field):
            getattr(message, field.name).extend(_random_value(field, draw) for _ in range(draw.choice((1, 2, 3, 60))))
        elif not field.message_type:
            setattr(message, field.name, _random_value(field, draw))


def _random_value(field: FieldDescriptor, draw: Random) -> Any:
    if field.enum_type:
        return draw.choice(cast(Any, field.enum_type).values).number
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return draw.choice(WORDS)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return draw.random() < 0.5
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return draw.choice((0.5, -1e-7, 3.0, float("inf"), 1e20))
    return draw.randint(0, 2**31 - 1)


def random_text(job: JobProto, draw: Random) -> str:
    """A text of ``job`` that somebody who likes no order would write."""
    written = text_format.MessageToString(
        job, use_short_repeated_primitives=draw.random() < 0.5, as_utf8=draw.random() < 0.5
    )
    return scattered_text(written, draw)


def scattered_text(written: str, draw: Random) -> str:
    """``written`` with other breaks, blanks and separators between its words, and with other comments."""
    named = re.sub(r"\$\{(\w+)\}", r"holdS_\1_E", written)
    words = [_other_word(token, draw) for token in tokenize_text(named)]
    return re.sub(r"holdS_(\w+?)_E", r"${\1}", "".join(_with_separators(_paired(words, draw), draw)))


def _other_word(token: Token, draw: Random) -> str:
    """The same word written in another way."""
    text = token.text
    if text[0] == '"' and "'" not in text and "\\" not in text and draw.random() < 0.4:
        return f"'{text[1:-1]}'"
    if text[0] == '"' and not {"\\", "_"} & set(text) and len(text) > 4 and draw.random() < 0.2:
        return f'{text[:3]}" {text[0]}{text[3:]}'
    return text


def _paired(words: Sequence[str], draw: Random) -> list[str]:
    """``words`` with some blocks in angle brackets, and some with a colon before them."""
    found, angled = list[str](), list[bool]()
    for word in words:
        if word == "{":
            angled.append(draw.random() < 0.2)
            found += [":"] * (draw.random() < 0.2)
        found.append({"{": "<", "}": ">"}.get(word, word) if word in "{}" and angled[-1] else word)
        if word == "}":
            angled.pop()
            found += [draw.choice(",;")] * (draw.random() < 0.2)
    return found


def _with_separators(words: Sequence[str], draw: Random) -> Iterator[str]:
    """``words`` with blanks, line ends and comments between them."""
    often = draw.choice((0, 0.05, 0.3))
    for n, word in enumerate(words):
        yield word
        yield draw.choice(GAPS)
        if draw.random() < often:
            yield f"#{draw.choice((' ', '', ' { ', ':'))}note {n} {draw.choice(WORDS[:6])} \n"


def comments_of(text: str) -> list[str]:
    """The comments of a text, in order."""
    return [token.text.rstrip() for token in tokenize_text(text, comments=True) if token.text.startswith("#")]
