"""Drawing of a schedule as SVG: a row per team of workers, a box per turn, a bar on backward, time to the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from netpart.draw.font_metrics import FAMILY, text_width, widest_text, wrap_text
from netpart.draw.palette import worker_colour
from netpart.program.schedules.schedule import TimedTurn

UNIT, ROW, LEFT, TOP, GAP = 26, 34, 90, 46, 10
"""Pixels: width of a unit of time, height of a row, space to the left of and above the boxes, gap between rows."""
TITLE, TEXT, LINE = 15, 12, 16
"""Font sizes of the title and of all other texts; the height of a line of the note."""
LEAST = 420
"""Minimum width of a drawing in pixels; a wider note is broken into lines."""
STYLE = f"""<style>
text {{ font-family: {FAMILY}; font-size: {TEXT}px; fill: #222 }}
.title {{ font-size: {TITLE}px; font-weight: bold }} .turn {{ text-anchor: middle }} .note {{ fill: #555 }}
</style>"""


def schedule_svg(played: Sequence[TimedTurn], teams: Sequence[Sequence[int]], title: str) -> str:
    """Draw which team computes which turn at what time. ``teams`` are the workers of each team; the first names it."""
    rows = {team[0]: i for i, team in enumerate(teams)}
    lasts = max((each.end for each in played), default=0)
    idle = 1 - sum(each.end - each.start for each in played) / max(1, lasts * len(rows))
    meaning = (
        f"{idle:.0%} of the time is idle; a bar marks backward, which takes twice as long; numbers are micro-batches"
    )
    left = max(LEFT, 24 + widest_text([_team_name(team) for team in teams], TEXT))
    wide = max(left + lasts * UNIT + 20, text_width(title, TITLE, bold=True) + 24, LEAST)
    note = wrap_text(meaning, TEXT, wide - 24)
    below = TOP + len(rows) * (ROW + GAP) + LINE
    height = below + LINE * len(note)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {height}" style="max-width: {wide:g}px">',
            f"<title>{escape(title)}</title>", STYLE, '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="12" y="24" class="title">{escape(title)}</text>',
            *(_row_label(team, row) for team, row in zip(teams, rows.values(), strict=True)),
            *(line for each in played for line in _turn_box(each, rows[each.turn.stage.team], left)),
            *(f'<text x="12" y="{below + LINE * i}" class="note">{line}</text>' for i, line in enumerate(note)),
            "</svg>\n",
        ]
    )  # fmt: skip


def _row_label(team: Sequence[int], row: int) -> str:
    """The label to the left of a row."""
    return f'<text x="12" y="{TOP + row * (ROW + GAP) + ROW / 2 + 5}">{_team_name(team)}</text>'


def _team_name(team: Sequence[int]) -> str:
    """The workers of a team as text."""
    return f"worker {team[0]}" if len(team) == 1 else f"workers {', '.join(map(str, team))}"


def _turn_box(each: TimedTurn, row: int, left: float) -> Iterator[str]:
    """The box of one turn."""
    x = left + each.start * UNIT
    y = TOP + row * (ROW + GAP)
    wide = (each.end - each.start) * UNIT
    backward = each.turn.backward
    hue = worker_colour(each.turn.stage.team)
    box = f'<rect x="{x + 1}" y="{y}" width="{wide - 2}" height="{ROW}" rx="3"'
    name = f'<text x="{x + wide / 2}" y="{y + ROW / 2 + 5}" class="turn">{each.turn.micro}</text>'
    tooltip = f"{'backward' if backward else 'forward'} of micro-batch {each.turn.micro}, level {each.turn.stage.level}"
    yield f"<g><title>{tooltip}</title>"
    bar = _backward_bar(x, y, wide, hue.line) if backward else ""
    yield f'{box} fill="{hue.fill}" stroke="{hue.line}"/>{bar}{name}</g>'


def _backward_bar(x: float, y: float, wide: float, line: str) -> str:
    """The bar that marks a box as backward."""
    return f'<rect x="{x + 1}" y="{y}" width="{wide - 2}" height="7" rx="3" fill="{line}"/>'
