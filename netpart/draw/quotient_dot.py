"""Graphviz DOT of a Quotient: a field per set of workers, a box per group with a stripe for each of its workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.draw.dot_text import (
    ABOVE,
    ASIDE,
    BRIDGE,
    CLASSES,
    LEADING,
    NO_GRADIENT,
    SMALL,
    SPACE,
    dot_opening,
    field_margin,
    line_widths,
    quote_dot,
    size_attributes,
    wrap_name,
)  # fmt: skip
from netpart.draw.font_metrics import wrap_text
from netpart.draw.palette import WorkerColour, worker_colour
from netpart.draw.quotient import GroupArrow, Quotient, group_workers_text, traffic_lines

SHARED = WorkerColour(line="#555555", fill="#ffffff", field="#f6f6f6")
"""Colours of what several workers share."""
STRIPES, STRIPE, SIDE = 16, 6, 24
"""Up to so many workers have stripes; points: width of a stripe, and of all of them, at each side of a box."""
ROOM = 250
"""Points: width of the small lines of a box."""


def quotient_lines(folded: Quotient, rankdir: str) -> Iterator[str]:
    """The lines of the DOT file; ``rankdir`` is the direction of its arrows, TB or LR."""
    several = any(1 < len(workers) <= STRIPES for workers in folded.fields)
    note = ["helpers are arrows" + "; a box has the colours of its workers at both sides" * several]
    yield from dot_opening(folded.picture, rankdir, *note)
    for place, workers in enumerate(folded.fields):
        yield from _team_field(place, workers, folded)
    for arrow in folded.arrows:
        yield f"  {_group_edge(arrow, folded)}"
    yield "}"


def _team_field(place: int, workers: tuple[int, ...], folded: Quotient) -> Iterator[str]:
    """The DOT cluster of the groups that ``workers`` compute together."""
    boxes = [_GroupBox(number, folded) for number in folded.fields[workers]]
    title = group_workers_text(workers)
    own = _team_colour(workers)
    margin = field_margin(title, max(box.wide for box in boxes))
    yield f"  subgraph cluster_worker_{place} {{"
    yield f'    label="{title}" labeljust=l margin={margin}'
    yield f'    style="filled,rounded" color="{own.line}" fillcolor="{own.field}"'
    yield from (f"    {box.node}" for box in boxes)
    yield "  }"


def _team_colour(workers: Sequence[int]) -> WorkerColour:
    """The colours of a worker, or of several."""
    return worker_colour(workers[0]) if len(workers) == 1 else SHARED


class _GroupBox:
    """The box of group ``number``: its lines, and ``wide``, the points that they need."""

    def __init__(self, number: int, folded: Quotient) -> None:
        self.group = folded.groups[number]
        self.names = wrap_name(self.group.name)
        about = [": ".join(filter(None, (self.group.kind, self.group.types))), *traffic_lines(folded, number)]
        self.small = [line for text in about for line in wrap_text(text, SMALL, ROOM)][: len(CLASSES)]
        self.widths = line_widths(self.names, self.small, self.group.extent)
        self.wide = max(self.widths) + 2 * ASIDE

    @property
    def node(self) -> str:
        """The DOT of the box."""
        label = quote_dot("\n".join([*self.names, *self.small, self.group.extent]))
        tooltip = quote_dot(", ".join(self.group.layers))
        look = f"class={CLASSES[len(self.small) - 1]}{' peripheries=2' * (len(self.group.instances) > 1)}"
        return f"{quote_dot(self.group.name)} [label={label} tooltip={tooltip} {look} {self._fill}]"

    @property
    def _fill(self) -> str:
        """Size and fill: the colour of its worker, or at both sides a stripe for each."""
        workers = self.group.workers
        own = _team_colour(workers)
        striped = 1 < len(workers) <= STRIPES
        wide = self.wide + 2 * SIDE * striped
        size = size_attributes(wide, LEADING * len(self.widths) + 2 * ABOVE)
        if not striped:
            return f'{size} fillcolor="{own.fill}" color="{own.line}"'
        share = min(STRIPE, SIDE / len(workers)) / wide
        side = [f"{worker_colour(worker).fill};{share:.4f}" for worker in workers]
        return f'{size} style=striped fillcolor="{":".join([*side, own.fill, *side])}" color="{own.line}"'


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
