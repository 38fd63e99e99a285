"""Graphviz DOT of a Picture: a field per worker, boxes for layers, ellipses for helpers, bytes on bridges.

Labels are plain text, a name and then two lines, because Graphviz's WebAssembly build knows no HTML labels;
``svg`` gives the lines their sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netpart.draw.picture import Arrow, Box, Picture, picture
from netpart.graph.graph import Graph
from netpart.graph.net import Net

WIDEST = 18
"""Characters of a name before it is wrapped."""

FONT = 'fontname="Helvetica,Arial,sans-serif"'
BRIDGE = "penwidth=2.2"
NO_GRADIENT = "style=dashed"
SAMPLES = {
    "bridge": f"{BRIDGE} label=\"between workers:\\l↓ bytes of values, ↑ of gradients\\l\"",
    "no gradient": f'{NO_GRADIENT} label="no gradient returns\\l"',
}  # fmt: skip


def to_dot(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Writes a partitioned (or uncut) net in DOT; equal nets give equal text. ``itemsize``: bytes of an activation."""
    return "\n".join(lines(picture(drawn, itemsize))) + "\n"


def lines(shown: Picture) -> Iterator[str]:
    """The lines of the DOT file."""
    yield f"digraph {quoted(shown.name)} {{"
    yield f"  graph [{FONT} fontsize=14 rankdir=TB ranksep=0.32 nodesep=0.22 newrank=true labelloc=t"
    yield f"         label={quoted(heading(shown))}]"
    yield f'  node [{FONT} fontsize=11 shape=box style="filled,rounded" margin="0.12,0.05" height=0.3]'
    yield f'  edge [{FONT} fontsize=10 arrowsize=0.7 color="#555555"]'
    for worker, boxes in shown.fields.items():
        yield from field(worker, boxes)
    for arrow in shown.arrows:
        yield f"  {line(arrow, shown)}"
    yield from legend(shown)
    yield "}"


def heading(shown: Picture) -> str:
    """Title of the drawing; its second line is the traffic between workers."""
    return f"{shown.title}\n{shown.traffic}\n " if shown.traffic else f"{shown.title}\n "


def field(worker: int, boxes: list[Box]) -> Iterator[str]:
    """The cluster of one worker."""
    own = boxes[0].colour
    yield f"  subgraph cluster_worker_{worker} {{"
    yield f'    label="worker {worker}" style="filled,rounded" color="{own.line}" fillcolor="{own.field}" margin=12'
    for box in boxes:
        yield f"    {node(box)}"
    yield "  }"


def node(box: Box) -> str:
    """One box: a filled rectangle for a layer, a white ellipse for a helper."""
    label = "\n".join([*wrapped(box.name), box.type, box.extent])
    look = f'fillcolor="{box.colour.fill}" color="{box.colour.line}"'
    if box.is_helper:
        look = f'shape=ellipse style=filled margin="0.02,0.0" fillcolor=white color="{box.colour.line}"'
    return f"{quoted(box.name)} [label={quoted(label)} tooltip={quoted(box.holds)} {look}]"


def line(arrow: Arrow, shown: Picture) -> str:
    """One arrow: thick between workers, dashed where no gradient returns."""
    look = [] if arrow.gradient else [NO_GRADIENT]
    if arrow.crosses:
        look += [BRIDGE, f'color="{shown.by_name[arrow.source].colour.line}"', f"label={quoted(f'  {arrow.label}')}"]
    attributes = f" [{' '.join(look)}]" if look else ""
    return f"{quoted(arrow.source)} -> {quoted(arrow.target)}{attributes}"


def legend(shown: Picture) -> Iterator[str]:
    """A little graph that shows what the shapes and lines mean; nothing where there is nothing to tell."""
    if not shown.legend:
        return
    yield "  subgraph cluster_legend {"
    yield '    label="" color="#aaaaaa" style=rounded margin=8'
    yield '    "legend 0" [label="layer\\ntype\\nshape" fillcolor="#eeeeee" color="#555555"]'
    previous = "legend 0"
    for i, kind in enumerate(shown.legend, 1):
        yield f'    "legend {i}" [label="helper\\nwhat it does\\nshape" shape=ellipse style=filled fillcolor=white]'
        yield f'    "{previous}" -> "legend {i}" [{SAMPLES[kind]}]'
        previous = f"legend {i}"
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
