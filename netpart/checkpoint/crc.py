"""CRC-32 as of zlib, of many bytes in half the time: they are folded into a few first, by XOR alone.

A CRC is the remainder of the bytes, read as a polynomial over GF(2), by a fixed polynomial P of degree 32. Let y = x^8,
which moves a polynomial by one byte. Every sum of two powers of y recurs: y^91639 = y^41678 + 1 modulo P, and, as
squaring is linear, the same holds for these exponents times 2, 4, 8 and so on. So a byte may be replaced by two copies,
LONG and SHORT bytes further on, without a change of the remainder. NumPy adds (XORs) long rows of bytes at the speed of
the cache. In the end LONG bytes are left, and zlib computes their remainder.

P divides y^91639 + y^41678 + 1: ``tests/checkpoint/test_crc.py`` divides. The exponents were found by a table of the
powers of y up to 400000.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

TIMES = 4
LONG, SHORT = 91639 * TIMES, (91639 - 41678) * TIMES
"""How far the two copies of a byte lie behind it: so far that NumPy has long rows to add."""
ROWS = 6
"""Rows of SHORT bytes that are folded before the last LONG bytes move back to the beginning of the memory for them."""
LEAST = 3 * LONG
"""Bytes from which folding pays."""

_REVERSED = 0xEDB88320
_ONE = 1 << 31
"""The polynomials P and 1, as in zlib: the highest bit is the coefficient of x^0."""
_ORDER = 2**32 - 1
"""P is primitive: x^(2^32 - 1) = 1."""
_FULL = 0xFFFFFFFF
"""What a CRC-32 begins with, and what it is XORed with at its end."""


class RunningCrc:
    """The CRC-32 of ``nbytes`` bytes that come block by block."""

    def __init__(self, nbytes: int) -> None:
        self.plain = 0
        self.count = 0
        # Its last LONG bytes are those that the next ones depend on; 0 before the first.
        self.folded = np.empty(LONG + ROWS * SHORT if nbytes >= LEAST else 0, np.uint8)
        self.folded[:LONG] = 0
        self.end = LONG

    def feed(self, block: NDArray[np.uint8]) -> None:
        """Take the next bytes, an array of one axis."""
        self.count += len(block)
        if len(self.folded):
            self._fold(block)
        else:
            self.plain = crc32(block.data, self.plain)

    @property
    def value(self) -> int:
        """The CRC-32 of all bytes so far, equal to that of ``zlib.crc32``."""
        if not len(self.folded):
            return self.plain
        # From here on the bytes fall into two copies beyond the end: this is the remainder of all times y^LONG.
        rest = self.folded[self.end - LONG : self.end].copy()
        rest[:SHORT] ^= self.folded[self.end - SHORT : self.end]
        remainder = multiply(crc32(rest.data, _FULL) ^ _FULL, power_of_y(-LONG))
        return remainder ^ multiply(_FULL, power_of_y(self.count)) ^ _FULL

    def _fold(self, block: NDArray[np.uint8]) -> None:
        done = 0
        while done < len(block):
            if self.end == len(self.folded):
                self.folded[:LONG] = self.folded[self.end - LONG :]
                self.end = LONG
            n, end = min(SHORT, len(block) - done, len(self.folded) - self.end), self.end
            out = self.folded[end : end + n]
            np.bitwise_xor(block[done : done + n], self.folded[end - SHORT : end - SHORT + n], out=out)
            np.bitwise_xor(out, self.folded[end - LONG : end - LONG + n], out=out)
            self.end += n
            done += n


def join_crcs(first: int, second: int, count: int) -> int:
    """The CRC-32 of bytes with CRC ``first``, followed by ``count`` bytes with CRC ``second``.

    As crc32_combine of zlib, which Python does not offer.
    """
    return multiply(first, power_of_y(count)) ^ second


@lru_cache(4096)
def power_of_y(exponent: int) -> int:
    """y to an exponent, also a negative one, modulo P."""
    exponent = 8 * exponent % _ORDER
    result, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            result = multiply(result, square)
        square = multiply(square, square)
        exponent >>= 1
    return result


def multiply(a: int, b: int) -> int:
    """The product of two polynomials modulo P."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = a << 1 & _FULL
        b = b >> 1 ^ (_REVERSED if b & 1 else 0)
    return product
