"""Bitmap font of 5 by 7 pixels, for PNG pictures: five columns per letter, whose lowest bit is the top pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HIGH, WIDE, ADVANCE, LINE = 7, 5, 6, 10
"""Pixels: height and width of a letter, step to the next letter, step to the next line."""

FIRST = " "
COLUMNS = bytes.fromhex(
    "0000000000 00005F0000 0007000700 147F147F14 242A7F2A12 2313086462 3649552250 0005030000 001C224100 0041221C00"  # '
    "14083E0814 08083E0808 0050300000 0808080808 0060600000 2010080402"  # * + , - . /
    "3E5149453E 00427F4000 4261514946 2141454B31 1814127F10 2745454539 3C4A494930 0171090503 3649494936 064949291E"
    "0036360000 0056360000 0814224100 1414141414 0041221408 0201510906 324979413E"  # : ; < = > ? @
    "7E1111117E 7F49494936 3E41414122 7F4141221C 7F49494941 7F09090901 3E4149497A 7F0808087F 00417F4100 2040413F01"
    "7F08142241 7F40404040 7F020C027F 7F0408107F 3E4141413E 7F09090906 3E4151215E 7F09192946 4649494931 01017F0101"
    "3F4040403F 1F2040201F 3F4038403F 6314081463 0708700807 6151494543"  # U to Z
    "007F414100 0204081020 0041417F00 0402010204 4040404040 0001020400"  # [ \ ] ^ _ `
    "2054545478 7F48444438 3844444420 384444487F 3854545418 087E090102 0C5252523E 7F08040478 00447D4000 2040443D00"
    "7F10284400 00417F4000 7C04180478 7C08040478 3844444438 7C14141408 081414187C 7C08040408 4854545420 043F444020"
    "3C4040207C 1C2040201C 3C4030403C 4428102844 0C5050503C 4464544C44"  # u to z
    "0008364100 00007F0000 0041360800 1008081008"  # { | } ~
)
UNKNOWN = bytes.fromhex("7F4141417F")


def glyph_pixels(text: str, scale: int = 1) -> NDArray[np.bool_]:
    """The pixels of a line of ``text``: (HIGH * scale, ADVANCE * scale * letters) bool, True inside of letters.

    A character outside of ASCII appears as a frame.
    """
    found = np.zeros((8, ADVANCE * len(text)), np.bool_)
    for place, letter in enumerate(text):
        columns = np.frombuffer(_glyph_columns(letter), np.uint8)
        # One row of 8 bits per column of the letter; transposed, the bits of a column are below each other.
        bits = np.unpackbits(columns[:, None], axis=1, bitorder="little").T
        found[:, ADVANCE * place : ADVANCE * place + WIDE] = bits
    return found[:HIGH].repeat(scale, 0).repeat(scale, 1)


def _glyph_columns(letter: str) -> bytes:
    """The five columns of a letter, one byte each."""
    start = WIDE * (ord(letter) - ord(FIRST))
    return COLUMNS[start : start + WIDE] if 0 <= start < len(COLUMNS) else UNKNOWN
