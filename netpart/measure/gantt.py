"""Gantt chart of a Timeline as SVG: a bar per event, two lanes per worker, an arrow per message, one time axis.

          micro-batch    ├────────0────────┤  ├────0────┤
worker 0  computing      ▐forward▌▐forward▌   ▐backward▌▐update▌
          communication       ▐send▌\\    ░wait░▐receive▌
worker 1  computing      ▐forward▌   \\    ▐forward▌
          communication       ░wait░▐receive▌
          0 ms               1 ms               2 ms
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from math import ceil, log10

from netpart.draw.font_metrics import FAMILY, text_width, truncate_text
from netpart.measure.timeline import (
    BACKWARD,
    FORWARD,
    MOVE,
    READ,
    STEP,
    TALK,
    UPDATE,
    WAIT,
    Timeline,
    TimelineEvent,
    TimelineMessage,
)
from netpart.units import seconds_text

COLOURS = {
    READ: "#D55E00", FORWARD: "#56B4E9", BACKWARD: "#0072B2", UPDATE: "#009E73",
    MOVE: "#CC79A7", TALK: "#E69F00", WAIT: "#DDDDDD",
}  # fmt: skip
"""From the palette of Okabe and Ito, as in the drawings of nets. A wait is pale because nothing happens in it."""
WORDS = {
    READ: "wait for rows", FORWARD: "forward", BACKWARD: "backward", UPDATE: "update",
    MOVE: "copy, add, clear", TALK: "send, receive", WAIT: "wait",
}  # fmt: skip
WIDTH = 1000
LEFT = 150
RIGHT = 20
TOP = 70
LANE = 24
TURN = 16
GAP = 16
AXIS = 34
"""Pixels: width of the whole; margins left, right and above the bars; height of a lane, of the micro-batch numbers, of
the gap between workers, and of the axis below."""
TITLE, TEXT, NAME = 14, 11, 10
"""Letter sizes: of the title, of most texts, and within bars."""
LEAST = 0.15
"""Minimum width of a bar in pixels. Narrower ones would be invisible and are not drawn."""
TICKS = 10

STYLE = f"""<style>
text {{ font-family: {FAMILY}; font-size: {TEXT}px; fill: #222 }}
.title {{ font-size: {TITLE}px; font-weight: bold }} .end {{ text-anchor: end }} .middle {{ text-anchor: middle }}
.name {{ font-size: {NAME}px; pointer-events: none }} .dark {{ fill: #fff }} .note {{ fill: #555 }}
.bar {{ stroke: #fff; stroke-width: 0.3 }} .turn {{ fill-opacity: 0.25; stroke: #fff }}
.lane {{ fill: #f6f6f6 }} .tick {{ stroke: #ccc }} .message {{ stroke: #a33; stroke-width: 0.7; opacity: 0.6 }}
.step {{ fill: none; stroke: #222; stroke-width: 1.2 }}
</style>"""


class GanttChart:
    """Positions of the events of ``timeline`` in the drawing."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.began = min((event.start for event in timeline.events), default=0.0)
        self.lasts = max((event.end for event in timeline.events), default=0.0) - self.began or 1.0
        self.turn = TURN * any(event.micro >= 0 for event in timeline.events)
        self.each = self.turn + 2 * LANE + GAP
        self.height = TOP + timeline.workers * self.each + AXIS

    def x(self, seconds: float) -> float:
        """Pixels from the left for an instant of the timeline."""
        return LEFT + (seconds - self.began) / self.lasts * (WIDTH - LEFT - RIGHT)

    def y(self, event: TimelineEvent) -> float:
        """Pixels from the top for the lane of an event."""
        return self.top(event.worker) + self.turn + (LANE if event.kind in (TALK, WAIT) else 0)

    def top(self, worker: int) -> float:
        """Pixels from the top for the lanes of a worker."""
        return TOP + worker * self.each

    @property
    def note(self) -> str:
        """What the axis measures, in addition to the step time in the title."""
        steps = [event.seconds for event in self.timeline.events if event.kind == STEP]
        if not steps:
            return ""
        drawn = f"drawn are {seconds_text(self.lasts)}, from the first worker's start to the last one's end"
        return f"{drawn}; a bracket is a worker's step, {seconds_text(max(steps))} at most"


def draw_gantt(timeline: Timeline, title: str) -> str:
    """Draw ``timeline`` as SVG; omit bars that are too short to be visible.

    Events show their names where there is room, and their names and times as tooltips.
    """
    chart = GanttChart(timeline)
    events = [event for event in timeline.events if event.kind != STEP]
    events.sort(key=lambda event: -event.seconds)  # shorter ones last: a nested event is drawn over the outer one
    size = f'viewBox="0 0 {WIDTH} {chart.height}" style="max-width: {WIDTH}px"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<title>{escape(title)}</title>", STYLE,
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="8" y="18" class="title">{escape(truncate_text(title, TITLE, WIDTH - 16, bold=True))}</text>',
            f'<text x="8" y="36" class="note">{chart.note}</text>',
            *_gantt_legend(chart), *_worker_lanes(chart), *_time_axis(chart),
            *(line for worker in range(timeline.workers) for line in _micro_batch_bands(chart, worker)),
            *(_event_bar(chart, event) for event in events if _bar_width(chart, event) >= LEAST),
            *(_message_arrow(chart,
            message) for message in timeline.messages if message.sent.worker != message.taken.worker),
            *(_step_bracket(chart, event) for event in timeline.events if event.kind == STEP), "</svg>\n",
        ]
    )  # fmt: skip


def _gantt_legend(chart: GanttChart) -> Iterator[str]:
    """The meaning of the colours."""
    x = 8.0
    for kind, word in WORDS.items():
        yield f'<rect x="{x:.0f}" y="47" width="11" height="11" fill="{COLOURS[kind]}"/>'
        yield f'<text x="{x + 15:.0f}" y="56.5">{word}</text>'
        x += 34 + text_width(word, TEXT)
    yield f'<path d="M{x:.0f} 47 l14 11" class="message"/><text x="{x + 18:.0f}" y="56.5">message</text>'
    x += 38 + text_width("message", TEXT)
    if chart.turn:
        yield f'<text x="{x:.0f}" y="56.5">above the bars: numbers of micro-batches</text>'


def _micro_batch_bands(chart: GanttChart, worker: int) -> Iterator[str]:
    """Bands with the micro-batch numbers of a worker, each above a run of consecutive events of one micro-batch."""
    events = [event for event in chart.timeline.of_worker(worker) if event.micro >= 0]
    for (kind, micro), found in groupby(events, key=lambda event: (event.kind, event.micro)):
        played = list(found)
        x = chart.x(played[0].start)
        end = chart.x(max(event.end for event in played))
        y = chart.top(worker)
        told = f"<title>{WORDS[kind]} of micro-batch {micro}, {seconds_text(played[-1].end - played[0].start)}</title>"
        box = f'x="{x:.2f}" y="{y + 1}" width="{end - x:.2f}" height="{TURN - 2}"'
        yield f'<rect {box} fill="{COLOURS[kind]}" class="turn">{told}</rect>'
        if text_width(str(micro), NAME) <= end - x:
            yield f'<text x="{(x + end) / 2:.1f}" y="{y + TURN - 4}" class="name middle">{micro}</text>'


def _step_bracket(chart: GanttChart, event: TimelineEvent) -> str:
    """The bracket of one worker's step, below its lanes."""
    y = chart.top(event.worker) + chart.turn + 2 * LANE
    start = chart.x(event.start)
    end = chart.x(event.end)
    told = f"<title>step of worker {event.worker}, {seconds_text(event.seconds)}</title>"
    return f'<path d="M{start:.1f} {y} v5 H{end:.1f} v-5" class="step">{told}</path>'


def _worker_lanes(chart: GanttChart) -> Iterator[str]:
    """The background of every worker's lanes, with its name."""
    for worker in range(chart.timeline.workers):
        y = chart.top(worker) + chart.turn
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{2 * LANE}" class="lane"/>'
        yield f'<text x="8" y="{y + LANE + 4}">worker {worker}</text>'
        for lane, word in enumerate(("compute", "talk")):
            yield f'<text x="{LEFT - 8}" y="{y + lane * LANE + 16}" class="end">{word}</text>'


def _time_axis(chart: GanttChart) -> Iterator[str]:
    """Ticks at round times."""
    bottom = chart.height - AXIS
    every = tick_spacing(chart.lasts / TICKS)
    for tick in range(int(chart.lasts / every) + 1):
        x = chart.x(chart.began + tick * every)
        yield f'<path d="M{x:.1f} {TOP} V{bottom}" class="tick"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 14}" class="middle">{seconds_text(tick * every)}</text>'


def tick_spacing(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below ``least``."""
    # The tolerance absorbs rounding in log10, so that an exact power of ten is not rounded up to the next one.
    power: float = 10.0 ** ceil(log10(least) - 1e-9)
    return min(step for step in (power / 5, power / 2, power) if step >= least * (1 - 1e-9))


def _bar_width(chart: GanttChart, event: TimelineEvent) -> float:
    """Width of a bar in pixels."""
    return chart.x(event.end) - chart.x(event.start)


def _event_bar(chart: GanttChart, event: TimelineEvent) -> str:
    """The bar of one event, with its name if there is room."""
    x = chart.x(event.start)
    y = chart.y(event)
    room = _bar_width(chart, event)
    of = f" of micro-batch {event.micro}" if event.micro >= 0 else ""
    told = f"<title>{escape(event.text)}{of}, {seconds_text(event.seconds)}</title>"
    fill = COLOURS[event.kind]
    box = f'x="{x:.2f}" y="{y + 2}" width="{room:.2f}" height="{LANE - 4}"'
    drawn = f'<rect {box} fill="{fill}" class="bar">{told}</rect>'
    name = event.object or event.verb
    if text_width(name, NAME) + 6 > room:
        return drawn
    dark = " dark" if event.kind in (BACKWARD, UPDATE) else ""
    return f'{drawn}<text x="{x + 3:.1f}" y="{y + 15.5}" class="name{dark}">{escape(name)}</text>'


def _message_arrow(chart: GanttChart, message: TimelineMessage) -> str:
    """The arrow of a message, from its send to its receive."""
    start = message.sent
    end = message.taken
    half = LANE / 2
    ends = chart.x(start.start), chart.y(start) + half, chart.x(end.end), chart.y(end) + half
    return '<path d="M{:.1f} {:.1f} L{:.1f} {:.1f}" class="message"/>'.format(*ends)
