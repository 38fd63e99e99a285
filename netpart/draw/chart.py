"""Line charts as SVG: curves over a common axis, with ticks at round numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, inf, log10

from netpart.draw.font_metrics import FAMILY, truncate_text, widest_text
from netpart.draw.palette import HUES

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 36, 44
"""Margins, in pixels."""
TICKS = 5
"""Approximate number of ticks of an axis."""
TITLE, TEXT = 13, 11
"""Font sizes: of the title, of all other texts."""
STYLE = f"font-family: {FAMILY}; font-size: {TEXT}px"
BESIDE = 36
"""Pixels between the frame and the names of a legend to the right of it."""
MARGIN = 0.05
"""Margin of an axis at both ends, relative to the extent of its values."""
LEFT_TOP = 'preserveAspectRatio="xMinYMin"'
Values = Sequence[float]


@dataclass(frozen=True)
class ChartAxis:
    """A linear map of the values from ``lo`` to ``hi`` to the pixels from ``start`` to ``end``.

    ``counts``: the values are whole numbers, so ticks are too.
    """

    lo: float
    hi: float
    start: float
    end: float
    counts: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value, rounded to a tenth so that the files stay small."""
        return round(self.start + (value - self.lo) / (self.hi - self.lo) * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten between both ends."""
        step = 10.0 ** max(floor(log10((self.hi - self.lo) / TICKS)), 0 if self.counts else -inf)
        step *= next(k for k in (1, 2, 5, 10) if (self.hi - self.lo) / (step * k) <= TICKS)
        first = -int(-self.lo // step)  # rounded up: the first multiple of step that is not below lo
        return [k * step for k in range(first, int(self.hi // step) + 1)]


@dataclass(frozen=True)
class Curve:
    """Points (x, y), each with a mark; marks at the x of ``hollow`` are not filled.

    ``guide``: a dashed line without marks, as a reference for the others. ``marks``: False for a plain line. ``hue`` is
    the number of its colour, by default that of the curve.
    """

    points: Sequence[tuple[float, float]]
    hollow: Collection[float] = ()
    guide: bool = False
    marks: bool = True
    hue: int | None = None


def line_chart(title: str, across: str, up: str, curves: Mapping[str, Values]) -> str:
    """An SVG of ``curves``, each with the values at 0, 1, 2, …; ``across`` and ``up`` are the names of the axes."""
    values = [value for curve in curves.values() for value in curve]
    x = ChartAxis(0, max(1, *(len(curve) - 1 for curve in curves.values())), LEFT, WIDTH - RIGHT, counts=True)
    y = ChartAxis(*_padded_extent(values), HEIGHT - BOTTOM, TOP)
    body = [*_chart_frame(title, across, up, x, y), *_plain_curves(curves, x, y)]
    return _chart_page(body, WIDTH)


def marked_chart(title: str, across: str, up: str, curves: Mapping[str, Curve], tight: bool = False) -> str:
    """An SVG of ``curves`` with marks, over an axis from 0 up, and with a legend to the right.

    ``tight``: both axes have the extent of the values.
    """
    points = [point for curve in curves.values() for point in curve.points]
    x, y = _tight_axes(points) if tight else _zero_axes(points)
    marked = (line for k, (name, curve) in enumerate(curves.items()) for line in _marked_curve(k, name, curve, x, y))
    wide = WIDTH + BESIDE + ceil(widest_text(list(curves), TEXT)) + RIGHT
    return _chart_page([*_chart_frame(title, across, up, x, y, wide), *marked], wide)


def stack_charts(charts: Sequence[str]) -> str:
    """The SVG ``charts`` below each other, as one SVG."""
    wide = max(int(chart.split('viewBox="0 0 ', 1)[1].split(" ", 1)[0]) for chart in charts)
    placed = [
        chart.replace("<svg ", f'<svg y="{k * HEIGHT}" width="{wide}" height="{HEIGHT}" {LEFT_TOP} ', 1)
        for k, chart in enumerate(charts)
    ]
    return _chart_page(
        [f'<rect width="{wide}" height="{len(charts) * HEIGHT}" fill="white"/>', *placed], wide, len(charts) * HEIGHT
    )


def _zero_axes(points: Sequence[tuple[float, float]]) -> tuple[ChartAxis, ChartAxis]:
    """The axes of ``points`` that are not negative, from 0 up, with room for a mark at both ends."""
    x = ChartAxis(min(x for x, _ in points) - 0.25, max(x for x, _ in points) + 0.25, LEFT, WIDTH - RIGHT)
    return x, ChartAxis(0, (max(y for _, y in points) or 1.0) * 1.05, HEIGHT - BOTTOM, TOP)


def _tight_axes(points: Sequence[tuple[float, float]]) -> tuple[ChartAxis, ChartAxis]:
    """The axes of the extent of ``points``, with a margin."""
    (left, right), (low, high) = (_padded_extent(values) for values in zip(*points, strict=True))
    return ChartAxis(left, right, LEFT, WIDTH - RIGHT), ChartAxis(low, high, HEIGHT - BOTTOM, TOP)


def _padded_extent(values: Sequence[float]) -> tuple[float, float]:
    """The least and the largest value, with a margin: of a constant, relative to its value, or to 1 if that is 0."""
    margin = (max(values) - min(values) or abs(max(values)) or 1.0) * MARGIN
    return min(values) - margin, max(values) + margin


def _chart_page(body: Sequence[str], width: int, height: int = HEIGHT) -> str:
    """The SVG document that holds the elements ``body``."""
    size = f'viewBox="0 0 {width} {height}" style="max-width: {width}px; {STYLE}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', *body, "</svg>\n"])


def _chart_frame(title: str, across: str, up: str, x: ChartAxis, y: ChartAxis, width: int = WIDTH) -> Iterator[str]:
    """Background, title, axes and their ticks."""
    yield f'<title>{escape(title)}</title><rect width="{width}" height="{HEIGHT}" fill="white"/>'
    shown = truncate_text(title, TITLE, width - LEFT - RIGHT, bold=True)
    yield _text_element(LEFT, 18, shown, "start", f"font-weight: bold; font-size: {TITLE}px")
    yield _text_element((x.start + x.end) / 2, HEIGHT - 8, across, "middle")
    yield f'<g transform="translate(14 {(y.start + y.end) / 2}) rotate(-90)">{_text_element(0, 0, up, "middle")}</g>'
    for value in x.ticks:
        yield _text_element(x.at(value), y.start + 16, f"{value:g}", "middle")
    for value in y.ticks:
        yield f'<path d="M{x.start} {y.at(value)}H{x.end}" stroke="#dddddd"/>'
        yield _text_element(x.start - 6, y.at(value) + 4, f"{value:.6g}", "end")
    yield f'<path d="M{x.start} {y.end}V{y.start}H{x.end}" fill="none" stroke="black"/>'


def _plain_curves(curves: Mapping[str, Values], x: ChartAxis, y: ChartAxis) -> Iterator[str]:
    """The curves and their legend."""
    for k, (name, curve) in enumerate(curves.items()):
        points = " ".join(f"{x.at(i)},{y.at(value)}" for i, value in enumerate(curve))
        yield f'<polyline points="{points}" fill="none" stroke="#{HUES[k]}" stroke-width="1.5"/>'
        if len(curve) == 1:
            yield _round_mark(x.at(0), y.at(curve[0]), f"#{HUES[k]}", f"#{HUES[k]}")
        row = y.end + 14 + 16 * k if curve[-1] < curve[0] else y.start - 10 - 16 * k
        yield f'<path d="M{x.end - 24} {row - 4}h20" stroke="#{HUES[k]}" stroke-width="3"/>'
        yield _text_element(x.end - 30, row, name, "end")


def _marked_curve(k: int, name: str, curve: Curve, x: ChartAxis, y: ChartAxis) -> Iterator[str]:
    """The ``k``-th marked curve and its row of the legend."""
    colour = "#999999" if curve.guide else f"#{HUES[(k if curve.hue is None else curve.hue) % len(HUES)]}"
    row = TOP + 8 + 18 * k
    look = ' stroke-dasharray="5 4"' if curve.guide else ""
    points = " ".join(f"{x.at(across)},{y.at(up)}" for across, up in curve.points)
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"{look}/>'
    yield f'<path d="M{WIDTH + 4} {row - 4}h24" stroke="{colour}" stroke-width="1.5"{look}/>'
    yield _text_element(WIDTH + BESIDE, row, name, "start")
    if curve.marks and not curve.guide:
        yield _round_mark(WIDTH + 16, row - 4, colour, "white" if len(curve.hollow) == len(curve.points) else colour)
        yield from (
            _round_mark(x.at(across), y.at(up), colour, "white" if across in curve.hollow else colour)
            for across, up in curve.points
        )


def _round_mark(x: float, y: float, colour: str, fill: str) -> str:
    """A round mark."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="3.5" stroke="{colour}" stroke-width="1.5" fill="{fill}"/>'


def _text_element(x: float, y: float, content: str, anchor: str, style: str = "") -> str:
    """A line of text."""
    more = f' style="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(content)}</text>'
