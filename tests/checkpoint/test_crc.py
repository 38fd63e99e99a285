"""CRC-32 of joined bytes."""

from __future__ import annotations

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.crc import join_crcs, multiply, power_of_y


@given(first=st.binary(max_size=99), second=st.binary(max_size=99))
def test_those_of_two_parts_make_that_of_the_whole(first: bytes, second: bytes) -> None:
    assert join_crcs(crc32(first), crc32(second), len(second)) == crc32(first + second)


@given(a=st.integers(0, 10**12), b=st.integers(0, 10**12))
def test_powers_multiply(a: int, b: int) -> None:
    assert multiply(power_of_y(a), power_of_y(b)) == power_of_y(a + b)
