"""Graphviz DOT of a Quotient: a field per set of workers, a box per group with a stripe for each of its workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.draw.dot_text import (
    BRIDGE, CLASSES, NO_GRADIENT, SMALL, SPACE, box_size, dot_opening, field_margin, quote_dot, wrap_name,
)  # fmt: skip
from netpart.draw.font_metrics import wrap_text
from netpart.draw.palette import WorkerColour, worker_colour
from netpart.draw.quotient import GroupArrow, Quotient, describe_group, workers_text

SHARED = WorkerColour(line="#555555", fill="#eeeeee", field="#f8f8f8")
"""Colours of what several workers share, or what so many do that their stripes could not be told apart."""
STRIPES = 16
ROOM = 150
"""Points: width of the small lines of a box."""


def quotient_lines(folded: Quotient, rankdir: str) -> Iterator[str]:
    """The lines of the DOT file; ``rankdir`` is the direction of its arrows, TB or LR."""
    several = any(1 < len(workers) <= STRIPES for workers in folded.fields)
    note = ["helpers are arrows" + "; a stripe per worker, the lowest at the left" * several]
    yield from dot_opening(folded.picture, rankdir, *note)
    for place, workers in enumerate(folded.fields):
        yield from _team_field(place, workers, folded)
    for arrow in folded.arrows:
        yield f"  {_group_edge(arrow, folded)}"
    yield "}"


def _team_field(place: int, workers: tuple[int, ...], folded: Quotient) -> Iterator[str]:
    """The DOT cluster of the groups that ``workers`` compute together."""
    numbers = folded.fields[workers]
    title = workers_text(workers)
    own = _team_colour(workers)
    margin = field_margin(title, (folded.groups[number].name for number in numbers))
    yield f"  subgraph cluster_worker_{place} {{"
    yield f'    label="{title}" labeljust=l margin={margin}'
    yield f'    style="filled,rounded" color="{own.line}" fillcolor="{own.field}"'
    yield from (f"    {_group_node(number, folded)}" for number in numbers)
    yield "  }"


def _team_colour(workers: Sequence[int]) -> WorkerColour:
    """The colours of a worker, or of several."""
    return worker_colour(workers[0]) if len(workers) == 1 else SHARED


def _group_node(number: int, folded: Quotient) -> str:
    """The box of one group."""
    group = folded.groups[number]
    names = wrap_name(group.name)
    small = [line for text in describe_group(folded, number) for line in wrap_text(text, SMALL, ROOM)][: len(CLASSES)]
    label = "\n".join([*names, *small, group.extent])
    extent = box_size(names, small, group.extent, False)
    look = f"class={CLASSES[len(small) - 1]} {_fill_attributes(group.workers)}"
    return f"{quote_dot(group.name)} [label={quote_dot(label)} tooltip={quote_dot(', '.join(group.layers))} {extent} {look}]"


def _fill_attributes(workers: Sequence[int]) -> str:
    """The fill of a box: the colour of its worker, or a stripe for each."""
    own = _team_colour(workers)
    if not 1 < len(workers) <= STRIPES:
        return f'fillcolor="{own.fill}" color="{own.line}"'
    fills = ":".join(worker_colour(worker).fill for worker in workers)
    return f'style=striped fillcolor="{fills}" color="{own.line}"'


def _group_edge(arrow: GroupArrow, folded: Quotient) -> str:
    """One arrow between groups: thick with what it moves between workers, dashed if no gradient returns along it."""
    source, target = folded.groups[arrow.source], folded.groups[arrow.target]
    look = [] if arrow.gradient else [NO_GRADIENT]
    if arrow.traffic.arrows:
        colour = _team_colour(source.workers).line
        label = "".join(f"  {line}{SPACE}\\l" for line in arrow.traffic.lines)
        look.append(f'{BRIDGE} color="{colour}" fontcolor="{colour}" label="{label}"')
    attributes = f" [{' '.join(look)}]" if look else ""
    return f"{quote_dot(source.name)} -> {quote_dot(target.name)}{attributes}"
