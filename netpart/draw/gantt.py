"""Gantt chart of a Timeline as SVG: a bar per event, two lanes per worker, an arrow per message, one time axis.

worker 0  computing      ▐forward▌▐forward▌   ▐backward▌▐update▌
          communication       ▐send▌\\    ░wait░▐receive▌
worker 1  computing      ▐forward▌   \\    ▐forward▌
          communication       ░wait░▐receive▌
          0 ms               1 ms               2 ms
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil, log10

from netpart.plan.timeline import BACKWARD, FORWARD, MOVE, STEP, TALK, UPDATE, WAIT, Event, Message, Timeline
from netpart.units import seconds_text

COLOURS = {
    FORWARD: "#56B4E9", BACKWARD: "#0072B2", UPDATE: "#009E73", MOVE: "#CC79A7", TALK: "#E69F00", WAIT: "#DDDDDD",
}  # fmt: skip
"""Of the palette of Okabe and Ito, as the nets' drawings; a wait is pale, as nothing happens in it."""
WORDS = {
    FORWARD: "forward", BACKWARD: "backward", UPDATE: "update", MOVE: "copy, add, clear", TALK: "send, receive",
    WAIT: "wait",
}  # fmt: skip
WIDTH, LEFT, RIGHT, TOP, LANE, GAP, AXIS = 1000, 130, 20, 50, 24, 14, 34
"""Pixels: of the whole, beside and above the bars, of a lane, between workers, below them."""
LETTER = 6.2
"""Pixels that a letter of a bar's name takes."""
LEAST = 0.15
"""Bars that are narrower are not drawn: nobody would see them."""
TICKS = 10

STYLE = """<style>
text { font-family: Helvetica, Arial, sans-serif; font-size: 11px; fill: #222 }
.title { font-size: 14px; font-weight: bold } .end { text-anchor: end } .middle { text-anchor: middle }
.name { font-size: 10px; pointer-events: none } .dark { fill: #fff }
.bar { stroke: #fff; stroke-width: 0.3 }
.lane { fill: #f6f6f6 } .tick { stroke: #ccc } .message { stroke: #a33; stroke-width: 0.7; opacity: 0.6 }
</style>"""


class Chart:
    """Where things of ``timeline`` stand."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.began = min((event.start for event in timeline.events), default=0.0)
        self.lasts = max((event.end for event in timeline.events), default=0.0) - self.began or 1.0
        self.height = TOP + timeline.workers * (2 * LANE + GAP) + AXIS

    def x(self, seconds: float) -> float:
        """Pixels from the left of an instant of the timeline."""
        return LEFT + (seconds - self.began) / self.lasts * (WIDTH - LEFT - RIGHT)

    def y(self, event: Event) -> float:
        """Pixels from above of the lane of an event."""
        return self.top(event.worker) + (LANE if event.kind in (TALK, WAIT) else 0)

    def top(self, worker: int) -> float:
        """Pixels from above of the lanes of a worker."""
        return TOP + worker * (2 * LANE + GAP)


def to_svg(timeline: Timeline, title: str) -> str:
    """Draws ``timeline``; what is too short to be seen is left out. Events are named where there is room, and tell
    their names and times when they are pointed at."""
    chart = Chart(timeline)
    events = [event for event in timeline.events if event.kind != STEP]
    events.sort(key=lambda event: -event.seconds)  # what stands within another event is drawn over it
    size = f'viewBox="0 0 {WIDTH} {chart.height}" style="max-width: {WIDTH}px"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<title>{escape(title)}</title>", STYLE,
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="{LEFT}" y="18" class="title">{escape(title)}</text>', *legend(), *lanes(chart), *axis(chart),
            *(bar(chart, event) for event in events if wide(chart, event) >= LEAST),
            *(arrow(chart, message) for message in timeline.messages if message.sent.worker != message.taken.worker),
            "</svg>\n",
        ]
    )  # fmt: skip


def legend() -> Iterator[str]:
    """What the colours mean."""
    x = float(LEFT)
    for kind, word in WORDS.items():
        yield f'<rect x="{x:.0f}" y="28" width="11" height="11" fill="{COLOURS[kind]}"/>'
        yield f'<text x="{x + 15:.0f}" y="37.5">{word}</text>'
        x += 36 + LETTER * len(word)
    yield f'<path d="M{x:.0f} 28 l14 11" class="message"/><text x="{x + 18:.0f}" y="37.5">message</text>'


def lanes(chart: Chart) -> Iterator[str]:
    """The field of every worker, with its name."""
    for worker in range(chart.timeline.workers):
        y = chart.top(worker)
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{2 * LANE}" class="lane"/>'
        yield f'<text x="8" y="{y + LANE + 4}">worker {worker}</text>'
        for lane, word in enumerate(("compute", "talk")):
            yield f'<text x="{LEFT - 8}" y="{y + lane * LANE + 16}" class="end">{word}</text>'


def axis(chart: Chart) -> Iterator[str]:
    """Ticks at round times."""
    bottom, every = chart.height - AXIS, spacing(chart.lasts / TICKS)
    for tick in range(int(chart.lasts / every) + 1):
        x = chart.x(chart.began + tick * every)
        yield f'<path d="M{x:.1f} {TOP} V{bottom}" class="tick"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 14}" class="middle">{seconds_text(tick * every)}</text>'


def spacing(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below ``least``."""
    power: float = 10.0 ** ceil(log10(least) - 1e-9)
    return min(step for step in (power / 5, power / 2, power) if step >= least * (1 - 1e-9))


def wide(chart: Chart, event: Event) -> float:
    """Pixels of a bar."""
    return chart.x(event.end) - chart.x(event.start)


def bar(chart: Chart, event: Event) -> str:
    """One event."""
    x, y, width = chart.x(event.start), chart.y(event), wide(chart, event)
    told = f"<title>{escape(event.text)}, {seconds_text(event.seconds)}</title>"
    fill = COLOURS[event.kind]
    box = f'x="{x:.2f}" y="{y + 2}" width="{width:.2f}" height="{LANE - 4}"'
    drawn = f'<rect {box} fill="{fill}" class="bar">{told}</rect>'
    name = event.object or event.verb
    if LETTER * len(name) + 4 > width:
        return drawn
    dark = " dark" if event.kind in (BACKWARD, UPDATE) else ""
    return f'{drawn}<text x="{x + 3:.1f}" y="{y + 15.5}" class="name{dark}">{escape(name)}</text>'


def arrow(chart: Chart, message: Message) -> str:
    """A message, from where it was sent to where it was taken in."""
    (start, end), half = (message.sent, message.taken), LANE / 2
    ends = chart.x(start.start), chart.y(start) + half, chart.x(end.end), chart.y(end) + half
    return '<path d="M{:.1f} {:.1f} L{:.1f} {:.1f}" class="message"/>'.format(*ends)
