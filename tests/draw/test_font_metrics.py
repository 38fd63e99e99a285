"""Letters: widths of lines, and what fits into a given room."""

from __future__ import annotations

import pytest

from netpart.draw.font_metrics import text_width, truncate_text, widest_text, wrap_text


def test_a_line_is_as_wide_as_its_letters() -> None:
    assert text_width("conv1", 10) == pytest.approx((550 + 612 + 634 + 592 + 636) / 100)
    assert text_width("conv1", 10, bold=True) == pytest.approx((593 + 687 + 712 + 652 + 696) / 100)
    assert widest_text(["i", "mm", "m"], 10) == text_width("mm", 10)


def test_a_letter_that_is_not_known_is_wide() -> None:
    assert text_width("層", 10) == 10


def test_what_does_not_fit_ends_early() -> None:
    assert truncate_text("conv1", 10, 100) == "conv1"
    short = truncate_text("convolution", 10, 40)
    assert short.endswith("…")
    assert text_width(short, 10) <= 40 < text_width("convolution", 10)
    assert truncate_text("conv1", 10, 2) == ""


def test_long_texts_break_between_words() -> None:
    text = "each group at its own pace, at most 3 steps ahead"
    lines = wrap_text(text, 10, 120)
    assert " ".join(lines) == text
    assert len(lines) > 1
    assert widest_text(lines, 10) <= 120
    assert wrap_text("immeasurable", 10, 5) == ["immeasurable"]
