"""Gantt charts: every event that can be seen is drawn in its lane, every message as an arrow, and time as it is."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from netpart.draw.gantt import LANE, LEFT, RIGHT, WIDTH, Chart, spacing, to_svg
from netpart.plan.timeline import Event, Timeline

SENT, TAKEN = Event(0, 0, "send x", 0.5, 0.6, (1, 2)), Event(1, 0, "receive x", 0.8, 1.0, (1, 2))
TIMELINE = Timeline(
    2,
    (Event(0, 0, "forward <a>", 0.0, 0.5), SENT, Event(0, 0, "step", 0, 1), TAKEN, Event(1, 0, "zero", 0.2, 0.200001)),
)
SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(TIMELINE, "a & b"))


def bars() -> dict[str, ElementTree.Element]:
    """The bars by what they tell."""
    return {
        told.text or "": rect for rect in drawn().iter(f"{SVG}rect") if (told := rect.find(f"{SVG}title")) is not None
    }


def test_what_can_be_seen_is_drawn() -> None:
    assert set(bars()) == {"forward <a>, 500.0 ms", "send x, 100.0 ms", "receive x, 200.0 ms"}
    assert drawn().findtext(f"{SVG}title") == "a & b"


def test_a_bar_is_as_wide_as_its_time() -> None:
    bar = bars()["forward <a>, 500.0 ms"]
    assert float(bar.attrib["x"]) == LEFT
    assert float(bar.attrib["width"]) == pytest.approx((WIDTH - LEFT - RIGHT) / 2, abs=0.01)


def test_computing_and_talking_have_lanes_of_their_own() -> None:
    found = bars()
    computing, talking = (float(found[t].attrib["y"]) for t in ("forward <a>, 500.0 ms", "send x, 100.0 ms"))
    assert talking - computing == LANE


def test_a_message_is_an_arrow_between_workers() -> None:
    chart = Chart(TIMELINE)
    arrows = [p for p in drawn().iter(f"{SVG}path") if p.get("class") == "message"]
    assert len(arrows) == 2  # one in the legend
    assert f"M{chart.x(SENT.start):.1f}" in arrows[1].attrib["d"]


@pytest.mark.parametrize(("least", "found"), [(0.011, 0.02), (0.02, 0.02), (0.03, 0.05), (7e-6, 1e-5)])
def test_ticks_are_round(least: float, found: float) -> None:
    assert spacing(least) == pytest.approx(found)


def test_an_empty_timeline_can_be_drawn() -> None:
    ElementTree.fromstring(to_svg(Timeline(1, ()), "nothing"))
