"""Numbers as a person reads them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.units import bytes_text, count_text, plural_text, ranges_text, seconds_text

SCALE = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
SCALE |= {"B": 1} | {f"{letter}iB": 1024.0**i for i, letter in enumerate("KMGTP", start=1)}


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (-1536, "-1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (3 * 1024**5, "3.0 PiB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (999, "999"), (999.7, "1.0 k"), (431080, "431.1 k"), (999_950, "1.0 M")]
)
def test_counts(count: float, text: str) -> None:
    assert count_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3e-9, "3 ns"),
        (4.2e-6, "4.2 µs"),
        (0.0042, "4.2 ms"),
        (12.34, "12.3 s"),
        (59.96, "1 min 00 s"),
        (125, "2 min 05 s"),
        (-125, "-2 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7260, "2 h 01 min"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@given(st.integers(0, 10**17))
def test_a_text_is_within_a_unit_of_its_last_place(count: int) -> None:
    for text in (bytes_text(count), count_text(count)):
        match = re.fullmatch(r"([\d.]+) ?(\w*)", text)
        assert match is not None
        number, unit = match.groups()
        place = 0.1 if "." in number else 0.5
        assert abs(float(number) * SCALE[unit] - count) <= place * SCALE[unit]


@pytest.mark.parametrize(("count", "text"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps")])
def test_only_one_is_singular(count: int, text: str) -> None:
    assert plural_text(count, "step") == text


@pytest.mark.parametrize(
    ("numbers", "text"), [([3], "3"), ([1, 2], "1 to 2"), ([0, 2, 3, 4, 9], "0, 2 to 4, 9"), ([], "")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges_text(numbers) == text
