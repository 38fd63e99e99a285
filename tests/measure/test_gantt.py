"""Gantt charts: every event that can be seen is drawn in its lane, every message as an arrow, and time as it is."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from netpart.draw.font_metrics import text_width
from netpart.measure.gantt import LANE, LEFT, RIGHT, WIDTH, GanttChart, draw_gantt, tick_spacing
from netpart.measure.timeline import Timeline, TimelineEvent

SENT, TAKEN = TimelineEvent(0, 0, "send x", 0.5, 0.6, (1, 2)), TimelineEvent(1, 0, "receive x", 0.8, 1.0, (1, 2))
TIMELINE = Timeline(
    2,
    (
        TimelineEvent(0, 0, "forward <a>", 0.0, 0.5),
        SENT,
        TimelineEvent(0, 0, "step", 0, 1),
        TAKEN,
        TimelineEvent(1, 0, "zero", 0.2, 0.200001),
    ),
)
SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(draw_gantt(TIMELINE, "a & b"))


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
    chart = GanttChart(TIMELINE)
    arrows = [p for p in drawn().iter(f"{SVG}path") if p.get("class") == "message"]
    assert len(arrows) == 2  # one in the legend
    assert f"M{chart.x(SENT.start):.1f}" in arrows[1].attrib["d"]


@pytest.mark.parametrize(("least", "found"), [(0.011, 0.02), (0.02, 0.02), (0.03, 0.05), (7e-6, 1e-5)])
def test_ticks_are_round(least: float, found: float) -> None:
    assert tick_spacing(least) == pytest.approx(found)


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_axis_is_told_apart_from_the_step() -> None:
    """Worker 1 begins its step of 0.4 s before worker 0 ends the one before: 0.9 s are drawn."""
    steps = (
        TimelineEvent(0, 0, "forward a", 0.5, 0.8),
        TimelineEvent(0, 0, "step", 0.5, 0.9),
        TimelineEvent(1, 0, "step", 0.0, 0.4),
    )
    svg = draw_gantt(Timeline(2, steps), "net: the step takes 400.0 ms")
    (note,) = (text for text in texts(svg) if text.startswith("drawn are"))
    assert note == (
        "drawn are 900.0 ms, from the first worker's start to the last one's end; "
        "a bracket is a worker's step, 400.0 ms at most"
    )
    chart = GanttChart(Timeline(2, steps))
    brackets = [p.attrib["d"] for p in ElementTree.fromstring(svg).iter(f"{SVG}path") if p.get("class") == "step"]
    assert [d.split()[0][1:] for d in brackets] == [f"{chart.x(0.5):.1f}", f"{chart.x(0.0):.1f}"]
    assert brackets[0].split()[3] == f"H{chart.x(0.9):.1f}"


def test_numbers_of_micro_batches_stand_above_what_is_computed_of_them() -> None:
    events = [
        TimelineEvent(0, 0, "forward a", 0.0, 0.2, micro=0), TimelineEvent(0, 0, "copy", 0.2, 0.25),
        TimelineEvent(0, 0, "forward b", 0.25, 0.4, micro=0), TimelineEvent(0, 0, "forward a", 0.4, 0.6, micro=1),
        TimelineEvent(0, 0, "backward a", 0.6, 1.0, micro=0),
    ]  # fmt: skip
    svg, chart = draw_gantt(Timeline(1, tuple(events)), ""), GanttChart(Timeline(1, tuple(events)))
    turns = [rect for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect") if rect.get("class") == "turn"]
    assert [turn.findtext(f"{SVG}title") for turn in turns] == [
        "forward of micro-batch 0, 400.0 ms", "forward of micro-batch 1, 200.0 ms",
        "backward of micro-batch 0, 400.0 ms",
    ]  # fmt: skip
    assert [text for text in texts(svg) if text.isdigit()] == ["0", "1", "0"]
    assert float(turns[0].attrib["y"]) + float(turns[0].attrib["height"]) < chart.y(events[0])
    assert float(turns[0].attrib["width"]) == pytest.approx(chart.x(0.4) - chart.x(0.0), abs=0.01)


def test_texts_stay_in_the_drawing() -> None:
    events = TimelineEvent(0, 0, "forward a", 0.0, 0.2, micro=0), TimelineEvent(0, 0, "step", 0.0, 1.0)
    svg = draw_gantt(Timeline(1, events), "a long title " * 20)
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        size, bold = {"title": (14, True)}.get(text.get("class", ""), (11, False))
        shift = {"middle": 0.5, "end": 1.0}.get(text.get("class", "").split(" ")[-1], 0.0)
        wide = text_width(text.text or "", size, bold)
        left = float(text.attrib["x"]) - shift * wide
        assert left >= 0
        assert left + wide <= WIDTH


def test_an_empty_timeline_can_be_drawn() -> None:
    ElementTree.fromstring(draw_gantt(Timeline(1, ()), "nothing"))
