"""Mutations of bytes: what a disk, a network or somebody who means harm makes of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

Field = tuple[int, str]
"""Where a number lies in some bytes, and its format as ``struct`` has it."""
NUMBERS = (
    0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
    2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
"""Numbers at the ends of what is counted with; each with either sign."""
WORDS = (
    "", "0", "-1", "1.5", "nan", "inf", "-inf", "1e999", "1e-999", "9" * 5000, "0x10", "1_0", "٣", "é", "\0",
    '"', ",,,", "x" * 70_000, "../" * 40, "/dev/zero", "/proc/self/mem", "\r", "\n\n", "[" * 2000, "{" * 2000,
    "\ufeff", "%s",
)  # fmt: skip
"""What text has in place of a number or a name."""


def number(draw: Random) -> int:
    """A number that somebody may not have thought of."""
    return draw.choice((1, -1)) * draw.choice(NUMBERS) + draw.choice((0, 0, 0, 1, -1))


def put(content: bytes, field: Field, value: int) -> bytes:
    """``content`` with a number in place of another, cut to the width of the field."""
    at, form = field
    width = struct.calcsize(form)
    if form[-1] in "efd":
        packed = struct.pack(form, float(value))
    else:
        packed = (value % (1 << 8 * width)).to_bytes(width, "big" if form[0] == ">" else "little")
    return content[:at] + packed + content[at + width :]


def mutated(content: bytes, draw: Random, fields: Sequence[Field] = ()) -> bytes:
    """``content`` with one to three things wrong in it; ``fields`` are its numbers, most worth to be changed."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if fields and draw.random() < 0.5:
            content = put(content, draw.choice(fields), number(draw))
        else:
            content = draw.choice(DAMAGES)(content, draw)
    return content


def flipped(content: bytes, draw: Random) -> bytes:
    """A few bits are others."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 8) if content else 0):
        changed[place(content, draw)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def overwritten(content: bytes, draw: Random) -> bytes:
    """Some bytes are random."""
    at, some = place(content, draw), draw.randbytes(draw.randint(1, 16))
    return content[:at] + some + content[at + len(some) :]


def cut(content: bytes, draw: Random) -> bytes:
    """Its end is missing."""
    return content[: place(content, draw)]


def shortened(content: bytes, draw: Random) -> bytes:
    """A piece is missing."""
    at = place(content, draw)
    return content[:at] + content[at + draw.randint(1, 40) :]


def lengthened(content: bytes, draw: Random) -> bytes:
    """Something stands where nothing was."""
    at = place(content, draw)
    return content[:at] + draw.randbytes(draw.randint(1, 40)) + content[at:]


def followed(content: bytes, draw: Random) -> bytes:
    """Something follows its end."""
    return content + draw.randbytes(draw.randint(1, 40))


def repeated(content: bytes, draw: Random) -> bytes:
    """All of it stands there again and again."""
    return content * draw.randint(2, 4)


def exchanged(content: bytes, draw: Random) -> bytes:
    """Its two parts have changed places."""
    at = place(content, draw)
    return content[at:] + content[:at]


def blanked(content: bytes, draw: Random) -> bytes:
    """A piece of it is zeros, as after a crash of its host."""
    at = place(content, draw)
    return content[:at] + bytes(len(content[at : at + draw.randint(1, 600)])) + content[at + 600 :]


def emptied(content: bytes, draw: Random) -> bytes:
    """Nothing is left."""
    return b""


def place(content: bytes, draw: Random) -> int:
    """A place in some bytes: often near their beginning, where headers are."""
    return draw.randrange(min(len(content), draw.choice((64, 400, len(content)))) or 1) if content else 0


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    flipped, flipped, overwritten, overwritten, cut, cut, shortened, lengthened, followed, repeated, exchanged, blanked,
    emptied,
)  # fmt: skip


def reworded(text: str, draw: Random) -> str:
    """``text`` with one of its words replaced, taken away or said twice."""
    words = words_of(text)
    if not words:
        return draw.choice(WORDS)
    start, stop = draw.choice(words)
    new = draw.choice((draw.choice(WORDS), str(number(draw)), "", text[start:stop] * 2, other(text, words, draw)))
    return text[:start] + new + text[stop:]


def words_of(text: str) -> list[tuple[int, int]]:
    """Where the words of ``text`` begin and end: letters, digits and what numbers and paths have."""
    found, start = list[tuple[int, int]](), -1
    for at, character in enumerate(text + " "):
        inside = character.isalnum() or character in "._-+/"
        if inside and start < 0:
            start = at
        elif not inside and start >= 0:
            found.append((start, at))
            start = -1
    return found


def other(text: str, words: Sequence[tuple[int, int]], draw: Random) -> str:
    """Another of its words."""
    start, stop = draw.choice(words)
    return text[start:stop]
