"""Workers can be told apart, and text can be read on every fill."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from netpart.draw.palette import worker_colour

Rgb = tuple[float, float, float]

DICHROMACY = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
"""What the eye makes of linear RGB: Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of
Color Vision Deficiency, 2009, severity 1."""


def linear(text: str) -> Rgb:
    """Linear RGB of #rrggbb."""
    channels = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return r, g, b


def luminance(text: str) -> float:
    r, g, b = linear(text)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def seen(text: str, eye: str) -> Rgb:
    x, y, z = (sum(m * c for m, c in zip(row, linear(text), strict=True)) for row in DICHROMACY[eye])
    return x, y, z


def distance(a: str, b: str, eye: str) -> float:
    """Euclidean distance of two colours as ``eye`` sees them, after gamma."""
    pairs = zip(seen(a, eye), seen(b, eye), strict=True)
    return math.hypot(*(max(x, 0) ** (1 / 2.2) - max(y, 0) ** (1 / 2.2) for x, y in pairs))


@pytest.mark.parametrize("eye", DICHROMACY)
def test_the_first_eight_outlines_differ_for_every_eye(eye: str) -> None:
    outlines = [worker_colour(worker).line for worker in range(8)]
    assert min(distance(a, b, eye) for a, b in combinations(outlines, 2)) > 0.1


def test_sixteen_workers_have_fills_of_their_own() -> None:
    assert len({worker_colour(worker).fill for worker in range(16)}) == 16
    assert worker_colour(16) == worker_colour(0)


@pytest.mark.parametrize("worker", range(16))
def test_black_text_can_be_read_on_a_fill(worker: int) -> None:
    """Contrast 7 : 1, what WCAG 2 asks for at level AAA."""
    assert (luminance(worker_colour(worker).fill) + 0.05) / 0.05 > 7
