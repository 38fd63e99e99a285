"""The CRC-32 of joined bytes from those of their parts, as crc32_combine of zlib, which Python does not offer.

A CRC is the remainder of the bytes, read as a polynomial over GF(2), by a fixed polynomial P of degree 32. Let y = x^8,
which moves a polynomial by one byte.
"""

from __future__ import annotations

from functools import lru_cache

_REVERSED = 0xEDB88320
_ONE = 1 << 31
"""The polynomials P and 1, as in zlib: the highest bit is the coefficient of x^0."""
_FULL = 0xFFFFFFFF
"""32 bits."""


def join_crcs(first: int, second: int, count: int) -> int:
    """The CRC-32 of bytes with CRC ``first``, followed by ``count`` bytes with CRC ``second``."""
    return multiply(first, power_of_y(count)) ^ second


@lru_cache(4096)
def power_of_y(exponent: int) -> int:
    """y to an exponent, modulo P."""
    exponent *= 8
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
