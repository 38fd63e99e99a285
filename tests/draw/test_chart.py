"""Charts: curves keep their shape, ticks are round, and the SVG is one."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from netpart.draw.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TEXT,
    TOP,
    WIDTH,
    ChartAxis,
    Curve,
    line_chart,
    marked_chart,
)
from netpart.draw.font_metrics import text_width

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("lo", "hi", "ticks"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0.31, 0.74, [0.4, 0.5, 0.6, 0.7]),
        (-3, 3, [-2, 0, 2]),
        (7, 8.1, [7, 7.5, 8]),
    ],
)
def test_ticks_are_round_and_few(lo: float, hi: float, ticks: list[float]) -> None:
    assert ChartAxis(lo, hi, 0, 1).ticks == pytest.approx(ticks)


def test_curves_stay_inside_the_frame_and_rise_upwards() -> None:
    root = ElementTree.fromstring(line_chart("a < b", "x", "y", {"up": [1, 2, 4], "flat": [2, 2, 2]}))
    up, flat = (
        [tuple(map(float, p.split(","))) for p in c.get("points", "").split()] for c in root.iter(f"{SVG}polyline")
    )
    assert [x for x, _ in up] == [LEFT, (LEFT + WIDTH - RIGHT) / 2, WIDTH - RIGHT]
    assert up[0][1] > up[1][1] > up[2][1]
    assert up[1] == flat[1]
    assert all(TOP <= y <= HEIGHT - BOTTOM for _, y in up + flat)
    assert {"a < b", "x", "y", "up", "flat"} <= {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}


def test_a_single_value_can_be_drawn() -> None:
    root = ElementTree.fromstring(line_chart("one", "x", "y", {"a": [3.0]}))
    (mark,) = root.iter(f"{SVG}circle")
    assert (float(mark.get("cx", "")), float(mark.get("cy", ""))) == (LEFT, (TOP + HEIGHT - BOTTOM) / 2)
    assert {"0", "1"} <= {text.text for text in root.iter(f"{SVG}text")}
    assert "0.5" not in {text.text for text in root.iter(f"{SVG}text")}


def test_marks_stand_at_their_points_and_are_hollow_where_asked() -> None:
    curves = {"a": Curve([(1, 1.0), (2, 1.9), (4, 3.0)], hollow={4}), "ideal": Curve([(1, 1.0), (4, 4.0)], guide=True)}
    root = ElementTree.fromstring(marked_chart("speed-up", "workers", "times", curves))
    marks = [c for c in root.iter(f"{SVG}circle") if float(c.get("cx", "0")) < WIDTH - RIGHT]
    assert [c.get("fill") == "white" for c in marks] == [False, False, True]
    assert [float(c.get("cy", "0")) for c in marks] == sorted((float(c.get("cy", "0")) for c in marks), reverse=True)
    _, ideal = root.iter(f"{SVG}polyline")
    assert ideal.get("stroke-dasharray")
    assert {"a", "ideal"} <= {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}
    wide = float(str(root.get("viewBox")).split()[2])
    names = [text for text in root.iter(f"{SVG}text") if text.text in curves]
    assert len(names) == 2
    assert all(float(name.attrib["x"]) + text_width(name.text or "", TEXT) + RIGHT <= wide for name in names)
