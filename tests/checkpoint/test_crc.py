"""CRC-32 of many bytes: that of zlib, whatever the blocks are in which they come."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.crc import LEAST, LONG, SHORT, RunningCrc, join_crcs, multiply, power_of_y

CRC_POLYNOMIAL = 0x104C11DB7
MANY = np.random.default_rng(5).integers(0, 256, 2 * LEAST + 17, np.uint8)


def remainder(polynomial: int) -> int:
    """Of a polynomial over GF(2), whose coefficient of x^k is bit k, after division by that of the CRC."""
    while (degree := polynomial.bit_length()) > 32:
        polynomial ^= CRC_POLYNOMIAL << (degree - 33)
    return polynomial


def test_the_powers_by_which_bytes_fold_sum_to_zero() -> None:
    assert remainder(1 << 8 * 91639 | 1 << 8 * 41678 | 1) == 0
    assert power_of_y(LONG) ^ power_of_y(LONG - SHORT) == power_of_y(0)


@pytest.mark.parametrize("nbytes", [0, 1, 4096, LEAST - 1, LEAST, LEAST + 1, LEAST + LONG + SHORT + 3, len(MANY)])
@pytest.mark.parametrize("block", [1 << 20, SHORT, 77_777])
def test_it_is_that_of_zlib(nbytes: int, block: int) -> None:
    running = RunningCrc(nbytes)
    for at in range(0, nbytes, block):
        running.feed(MANY[at : min(at + block, nbytes)])
    assert running.value == crc32(MANY[:nbytes].data)


@given(cuts=st.lists(st.integers(0, len(MANY)), max_size=5))
def test_it_may_be_asked_for_between_blocks(cuts: list[int]) -> None:
    running = RunningCrc(len(MANY))
    for low, high in zip([0, *sorted(cuts)], sorted(cuts), strict=False):
        running.feed(MANY[low:high])
        assert running.value == crc32(MANY[:high].data)


@given(first=st.binary(max_size=99), second=st.binary(max_size=99))
def test_those_of_two_parts_make_that_of_the_whole(first: bytes, second: bytes) -> None:
    assert join_crcs(crc32(first), crc32(second), len(second)) == crc32(first + second)


@given(a=st.integers(0, 10**12), b=st.integers(-(10**12), 10**12))
def test_powers_multiply(a: int, b: int) -> None:
    assert multiply(power_of_y(a), power_of_y(b)) == power_of_y(a + b)
