"""Letters: widths of lines, and what fits into a given room."""

from __future__ import annotations

import pytest

from netpart.draw.letters import broken, fitting, widest, width


def test_a_line_is_as_wide_as_its_letters() -> None:
    assert width("conv1", 10) == pytest.approx((550 + 612 + 634 + 592 + 636) / 100)
    assert width("conv1", 10, bold=True) == pytest.approx((593 + 687 + 712 + 652 + 696) / 100)
    assert widest(["i", "mm", "m"], 10) == width("mm", 10)


def test_a_letter_that_is_not_known_is_wide() -> None:
    assert width("層", 10) == 10


def test_what_does_not_fit_ends_early() -> None:
    assert fitting("conv1", 10, 100) == "conv1"
    short = fitting("convolution", 10, 40)
    assert short.endswith("…")
    assert width(short, 10) <= 40 < width("convolution", 10)
    assert fitting("conv1", 10, 2) == ""


def test_long_texts_break_between_words() -> None:
    text = "each group at its own pace, at most 3 steps ahead"
    lines = broken(text, 10, 120)
    assert " ".join(lines) == text
    assert len(lines) > 1
    assert widest(lines, 10) <= 120
    assert broken("immeasurable", 10, 5) == ["immeasurable"]
