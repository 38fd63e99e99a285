"""Graphviz DOT of a Picture: a field per worker, boxes for layers, ellipses for helpers, bytes on bridges.

Labels are plain text, a name and then smaller lines, because Graphviz's WebAssembly build has no HTML labels; ``svg``
styles the lines. The sizes of boxes come from the widths in ``letters`` and not from Graphviz, whose fonts differ
between hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import sqrt

from netpart.draw.font_metrics import MEASURED, text_width
from netpart.draw.graph_picture import make_picture
from netpart.draw.picture import Arrow, CollectiveFrame, PartBox, Picture, ways_text
from netpart.graph.graph import Graph
from netpart.graph.net import Net

WIDEST = 18
"""Maximum number of characters of a name in one line."""

FONT = f'fontname="{MEASURED}"'
HEADING, NAME, SMALL, LEADING = 13, 10, 8, 12
"""Font sizes of titles, of a box's name and shape, and of the lines between; the height of a line. All in points."""
ASIDE, ABOVE, BESIDE = 9, 5, 24
"""Points to the left and right of the text in a box, above and below it, and next to the title of a field."""
INCH = 72
"""Points per inch: Graphviz takes sizes of boxes in inches."""
ROUND = 1.35
"""Height of an ellipse relative to the text in it."""
CLASSES = ("part", "part2")
"""Class names of boxes with one small line above the last, and with two."""
BRIDGE = "penwidth=2.2"
NO_GRADIENT = "style=dashed"
SPACE = "\u00a0"
SAMPLES = {
    "bridge": f'{BRIDGE} label="  across workers:\\l  ↓ bytes of values\\l  ↑ and of gradients{SPACE}\\l"',
    "no gradient": f'{NO_GRADIENT} label="  no gradient\\l  comes back{SPACE}\\l"',
}


def to_dot(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Write a partitioned (or uncut) net in DOT; equal nets give equal text. ``itemsize``: bytes per activation."""
    return "\n".join(dot_lines(make_picture(drawn, itemsize))) + "\n"


def dot_lines(shown: Picture) -> Iterator[str]:
    """The lines of the DOT file."""
    yield f"digraph {quote_dot(shown.name)} {{"
    yield f"  graph [{FONT} fontsize={HEADING} rankdir=TB ranksep=0.32 nodesep=0.22 newrank=true labelloc=t"
    yield f"         label={quote_dot(dot_heading(shown))}]"
    yield f'  node [{FONT} fontsize={NAME} shape=box style="filled,rounded" fixedsize=true]'
    yield f'  edge [{FONT} fontsize=9 arrowsize=0.7 color="#555555"]'
    for worker, boxes in shown.fields.items():
        yield from _worker_field(worker, boxes, shown)
    for names in shown.rows:
        yield f"  {{ rank=same; {'; '.join(map(quote_dot, names))} }}"
    for arrow in shown.arrows:
        yield f"  {_dot_edge(arrow, shown)}"
    yield from _dot_legend(shown)
    yield "}"


def dot_heading(shown: Picture) -> str:
    """The title of the drawing; further lines are the traffic between workers."""
    return "\n".join([shown.title, *filter(None, shown.traffic.split("; ")), " "])


def _worker_field(worker: int, boxes: list[PartBox], shown: Picture) -> Iterator[str]:
    """The DOT cluster of one worker, with an inner cluster for each collective in which it takes part."""
    own = boxes[0].colour
    yield f"  subgraph cluster_worker_{worker} {{"
    yield f'    label="worker {worker}" labeljust=l margin={_field_margin(worker, boxes)}'
    yield f'    style="filled,rounded" color="{own.line}" fillcolor="{own.field}"'
    yield from (f"    {_dot_node(box, shown)}" for box in boxes if box.frame < 0)
    for frame in shown.frames:
        inside = [box for box in boxes if box.frame == frame.number]
        if inside:
            yield f"    subgraph cluster_collective_{worker}_{frame.number} {{"
            label = f'"collective {worker} {frame.number}"'
            yield f'      label="" margin=8 style="rounded,dashed" color="{own.line}"'
            look = f'class=frame shape=plaintext style="" fixedsize=false margin=0.05 fontsize=9 fontcolor="{own.line}"'
            yield f"      {label} [label={quote_dot(_collective_label(frame))} {look}]"
            # The frame's text is a node of its own; rank=same puts it next to the last helper.
            yield f"      {{ rank=same; {label}; {quote_dot(inside[-1].name)} }}"
            yield from (f"      {_dot_node(box, shown)}" for box in inside)
            yield "    }"
    yield "  }"


def _field_margin(worker: int, boxes: list[PartBox]) -> int:
    """Points around a worker's boxes: enough for its title next to an arrow into the middle of the widest box."""
    widest = max(text_width(name, NAME, bold=True) for box in boxes for name in wrap_name(box.name)) + 2 * ASIDE
    return max(12, round(text_width(f"worker {worker}", HEADING) + BESIDE - widest / 2))


def _collective_label(frame: CollectiveFrame) -> str:
    """The text in a collective's frame: its name, and the bytes that all its members send together."""
    return "\n".join([*frame.name.split(" ", 1), *_way_lines(frame), "in all"])


def _way_lines(frame: CollectiveFrame) -> list[str]:
    return [way.strip() for way in frame.label.removeprefix(frame.name).split("  ") if way]


def _dot_node(box: PartBox, shown: Picture) -> str:
    """One box: a filled rectangle for a layer, a white ellipse for a helper."""
    names = wrap_name(box.name)
    small = [box.type, *_traffic_lines(box, shown)]
    label = "\n".join([*names, *small, box.extent])
    look = f'class={CLASSES[len(small) - 1]} fillcolor="{box.colour.fill}" color="{box.colour.line}"'
    if box.is_helper:
        look = f'class={CLASSES[len(small) - 1]} shape=ellipse style=filled fillcolor=white color="{box.colour.line}"'
    extent = _box_size(names, small, box.extent, box.is_helper)
    return f"{quote_dot(box.name)} [label={quote_dot(label)} tooltip={quote_dot(box.holds)} {extent} {look}]"


def _traffic_lines(box: PartBox, shown: Picture) -> Iterator[str]:
    """The lines of bytes in a box.

    They are those of a collective's arrows that end there, which are too many for labels of their own, and those of the
    sum of the box's gradient.
    """
    yield from (SPACE.join(arrow.label.split("  ")) for arrow in shown.arrows_into[box.name] if arrow.frame >= 0)
    if box.name in shown.reduction_by_box:
        yield f"Σ gradient {ways_text(0, shown.reduction_by_box[box.name].nbytes)} in all"


def _box_size(names: list[str], small: list[str], last: str, round: bool) -> str:
    """Width and height, as DOT attributes, of a rectangle or ellipse (``round``) that holds these lines."""
    widths = [*(text_width(name, NAME, bold=True) for name in names), *(text_width(each, SMALL) for each in small)]
    widths.append(text_width(last, NAME))
    high: float = LEADING * len(widths) + 2 * ABOVE
    if not round:
        return f"width={(max(widths) + 2 * ASIDE) / INCH:.3f} height={high / INCH:.3f}"
    high *= ROUND
    # The ellipse must hold every line: at the height y of a line's farther edge, its half width is
    # wide / 2 * sqrt(1 - (2 y / high)^2).
    tops = [LEADING * max(abs(i - len(widths) / 2), abs(i + 1 - len(widths) / 2)) for i in range(len(widths))]
    wide = max(text / sqrt(1 - (2 * top / high) ** 2) for text, top in zip(widths, tops, strict=True))
    return f"width={(wide + ASIDE) / INCH:.3f} height={high / INCH:.3f}"


def _dot_edge(arrow: Arrow, shown: Picture) -> str:
    """One arrow: thick between workers, dashed if no gradient returns along it."""
    look = [] if arrow.gradient else [NO_GRADIENT]
    if arrow.crosses:
        look += [_bridge_look(arrow, shown.by_name[arrow.source].colour.line)]
    attributes = f" [{' '.join(look)}]" if look else ""
    return f"{quote_dot(arrow.source)} -> {quote_dot(arrow.target)}{attributes}"


def _bridge_look(arrow: Arrow, colour: str) -> str:
    """The attributes of an arrow between workers: the sender's colour, and a label with the bytes of each direction."""
    look = f'{BRIDGE} color="{colour}" fontcolor="{colour}"'
    label = "".join(f"  {way}{SPACE}\\l" for way in arrow.label.split("  "))
    return look if arrow.frame >= 0 else f'{look} label="{label}"'


def _dot_legend(shown: Picture) -> Iterator[str]:
    """The legend: a small graph that shows the shapes and lines. Empty if every arrow is a plain one."""
    if not shown.legend:
        return
    yield "  subgraph cluster_legend {"
    yield '    label="" color="#aaaaaa" style=rounded margin=14 edge [fontsize=9]'
    layer = f'"layer\\ntype\\nshape" {_box_size(["layer"], ["type"], "shape", False)} fillcolor="#eeeeee"'
    helper = f'"helper\\ntype\\nshape" {_box_size(["helper"], ["type"], "shape", True)} shape=ellipse style=filled'
    end = f"{helper} fillcolor=white" if any(box.is_helper for box in shown.boxes) else layer
    yield f'    "legend 0" [label={layer} class={CLASSES[0]} color="#555555"]'
    for i, kind in enumerate(shown.legend):
        yield f'    "legend {i + 1}" [label={end} class={CLASSES[0]} color="#555555"]'
        yield f'    "legend {i}" -> "legend {i + 1}" [{SAMPLES[kind]}]'
    yield from _legend_captions(shown)
    yield "  }"


def _legend_captions(shown: Picture) -> Iterator[str]:
    """The texts of the legend, below its samples."""
    last, look = (
        f"legend {len(shown.legend)}",
        'class=frame shape=plaintext style="" fixedsize=false margin=0.05 fontsize=9',
    )
    if shown.frames:
        yield '    subgraph cluster_legend_frame { label="" margin=6 style="rounded,dashed" color="#555555"'
        yield f'      "legend frame" [label="collective:\\nits arrows\'\\nbytes are\\nwhere they end" {look}] }}'
        # Invisible edges: without them Graphviz would put the texts next to the samples instead of below.
        yield f'    "{last}" -> "legend frame" [style=invis]'
        last = "legend frame"
    if shown.reduction_by_box:
        yield f'    "legend sum" [label="Σ gradient:\\nreplicas add up\\ntheir gradients" {look}]'
        yield f'    "{last}" -> "legend sum" [style=invis]'


def wrap_name(name: str, widest: int = WIDEST) -> list[str]:
    """``name`` in lines of up to ``widest`` characters, broken after hyphens but never before a part's number."""
    rows = [""]
    for piece in re.findall(r".+?(?:-(?!\d)|$)", name):
        if rows[-1] and len(rows[-1] + piece) > widest:
            rows.append("")
        rows[-1] += piece
    return rows


def quote_dot(text: str) -> str:
    """``text`` as a DOT string; line ends become centred lines."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'
