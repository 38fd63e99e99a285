"""Graphviz DOT of a Picture: a field per worker, boxes for layers, ellipses for helpers, bytes on bridges.

Labels are plain text, a name and then two lines, because Graphviz's WebAssembly build knows no HTML labels;
``svg`` gives the lines their sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netpart.draw.graph_picture import picture
from netpart.draw.picture import Arrow, Box, Frame, Picture
from netpart.graph.graph import Graph
from netpart.graph.net import Net

WIDEST = 18
"""Characters of a name before it is wrapped."""

FONT = 'fontname="Helvetica,Arial,sans-serif"'
BRIDGE = "penwidth=2.2"
NO_GRADIENT = "style=dashed"
SPACE = "\u00a0"
PAD = SPACE * 3  # Graphviz guesses the width of text a little too small
SAMPLES = {
    "bridge": f'{BRIDGE} label="  across workers:\\l  ↓ bytes of values{PAD}\\l  ↑ and of gradients{PAD}\\l"',
    "no gradient": f'{NO_GRADIENT} label="  no gradient   \\l  comes back{PAD}\\l"',
}


def to_dot(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Writes a partitioned (or uncut) net in DOT; equal nets give equal text. ``itemsize``: bytes of an activation."""
    return "\n".join(lines(picture(drawn, itemsize))) + "\n"


def lines(shown: Picture) -> Iterator[str]:
    """The lines of the DOT file."""
    yield f"digraph {quoted(shown.name)} {{"
    yield f"  graph [{FONT} fontsize=14 rankdir=TB ranksep=0.32 nodesep=0.22 newrank=true labelloc=t"
    yield f"         label={quoted(heading(shown))}]"
    yield f'  node [{FONT} fontsize=11 shape=box style="filled,rounded" margin="0.19,0.05" height=0.3]'
    yield f'  edge [{FONT} fontsize=10 arrowsize=0.7 color="#555555"]'
    for worker, boxes in shown.fields.items():
        yield from field(worker, boxes, shown.frames)
    for names in shown.rows:
        yield f"  {{ rank=same; {'; '.join(map(quoted, names))} }}"
    for arrow in shown.arrows:
        yield f"  {line(arrow, shown)}"
    yield from legend(shown)
    yield "}"


def heading(shown: Picture) -> str:
    """Title of the drawing; its other lines are the traffic between workers. Fonts up to a fifth wider have room."""
    rows = [shown.title, *filter(None, shown.traffic.split("; "))]
    sides = [SPACE * (len(row) // 6 + 1) for row in rows]
    return "\n".join([*(f"{side}{row}{side}" for side, row in zip(sides, rows, strict=True)), " "])


def field(worker: int, boxes: list[Box], frames: tuple[Frame, ...]) -> Iterator[str]:
    """The cluster of one worker; within it one for each collective it takes part in."""
    own = boxes[0].colour
    yield f"  subgraph cluster_worker_{worker} {{"
    yield f'    label="worker {worker}" labeljust=l margin=12'
    yield f'    style="filled,rounded" color="{own.line}" fillcolor="{own.field}"'
    yield from (f"    {node(box)}" for box in boxes if box.frame < 0)
    for frame in frames:
        inside = [box for box in boxes if box.frame == frame.number]
        if inside:
            yield f"    subgraph cluster_collective_{worker}_{frame.number} {{"
            label = f'"collective {worker} {frame.number}"'
            yield f'      label="" margin=8 style="rounded,dashed" color="{own.line}"'
            look = f'class=frame shape=plaintext style="" fontcolor="{own.line}"'
            yield f"      {label} [label={quoted(framed(frame))} {look}]"
            yield f"      {{ rank=same; {label}; {quoted(inside[-1].name)} }}"
            yield from (f"      {node(box)}" for box in inside)
            yield "    }"
    yield "  }"


def framed(frame: Frame) -> str:
    """What stands in a collective's frame: its name, and what all its members send together."""
    return "\n".join([*frame.name.split(" ", 1), *_ways(frame), "in all"])


def _ways(frame: Frame) -> list[str]:
    return [way.strip() for way in frame.label.removeprefix(frame.name).split("  ") if way]


def node(box: Box) -> str:
    """One box: a filled rectangle for a layer, a white ellipse for a helper."""
    label = "\n".join([*wrapped(box.name), box.type, box.extent])
    look = f'fillcolor="{box.colour.fill}" color="{box.colour.line}"'
    if box.is_helper:
        look = f'shape=ellipse style=filled margin="0.13,0.02" fillcolor=white color="{box.colour.line}"'
    return f"{quoted(box.name)} [label={quoted(label)} tooltip={quoted(box.holds)} {look}]"


def line(arrow: Arrow, shown: Picture) -> str:
    """One arrow: thick between workers, dashed where no gradient returns."""
    look = [] if arrow.gradient else [NO_GRADIENT]
    if arrow.crosses:
        look += [bridge(arrow, shown.by_name[arrow.source].colour.line)]
    attributes = f" [{' '.join(look)}]" if look else ""
    return f"{quoted(arrow.source)} -> {quoted(arrow.target)}{attributes}"


def bridge(arrow: Arrow, colour: str) -> str:
    """The look of an arrow between workers: in the sender's colour, labelled with its bytes."""
    return f'{BRIDGE} color="{colour}" fontcolor="{colour}"' + (
        f" label={quoted(f'  {arrow.label}')}" if arrow.label else ""
    )


def legend(shown: Picture) -> Iterator[str]:
    """A little graph that shows what shapes and lines mean; nothing where every arrow is a plain one."""
    if not shown.legend:
        return
    yield "  subgraph cluster_legend {"
    yield '    label="" color="#aaaaaa" style=rounded margin=14 edge [fontsize=9]'
    yield '    "legend 0" [label="layer\\ntype\\nshape" fillcolor="#eeeeee" color="#555555"]'
    helpers = any(box.is_helper for box in shown.boxes)
    for i, kind in enumerate(shown.legend):
        end = '"helper\\ntype\\nshape" shape=ellipse style=filled margin="0.13,0.02" fillcolor=white'
        layer = '"layer\\ntype\\nshape" fillcolor="#eeeeee"'
        yield f'    "legend {i + 1}" [label={end if helpers else layer} color="#555555"]'
        yield f'    "legend {i}" -> "legend {i + 1}" [{SAMPLES[kind]}]'
    yield "  }"


def wrapped(name: str, widest: int = WIDEST) -> list[str]:
    """``name`` in lines of up to ``widest`` characters, broken behind hyphens but never before a part's number."""
    rows = [""]
    for piece in re.findall(r".+?(?:-(?!\d)|$)", name):
        if rows[-1] and len(rows[-1] + piece) > widest:
            rows.append("")
        rows[-1] += piece
    return rows


def quoted(text: str) -> str:
    """``text`` as a DOT string; line ends become centred lines."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'
