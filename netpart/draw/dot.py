"""Graphviz DOT of a Picture: a field per worker, boxes for layers, ellipses for helpers, bytes on bridges.

Labels are plain text, a name and then smaller lines, because Graphviz's WebAssembly build has no HTML labels; ``svg``
styles the lines. The sizes of boxes come from the widths in ``font_metrics`` and not from Graphviz, whose fonts differ
between hosts.
"""

from __future__ import annotations

from collections.abc import Iterator

from netpart.draw.dot_text import (
    BRIDGE,
    CLASSES,
    NAME,
    NO_GRADIENT,
    SPACE,
    box_size,
    dot_opening,
    field_margin,
    quote_dot,
    wrap_name,
)  # fmt: skip
from netpart.draw.font_metrics import widest_text
from netpart.draw.graph_picture import make_picture
from netpart.draw.look import PLAIN, DrawingLook, fold_picture
from netpart.draw.picture import Arrow, CollectiveFrame, PartBox, Picture, ways_text
from netpart.draw.quotient import Quotient
from netpart.draw.quotient_dot import quotient_lines
from netpart.graph.graph import Graph
from netpart.graph.net import Net

SAMPLES = {
    "bridge": f'{BRIDGE} label="  across workers:\\l  ↓ bytes of values\\l  ↑ and of gradients{SPACE}\\l"',
    "no gradient": f'{NO_GRADIENT} label="  no gradient\\l  comes back{SPACE}\\l"',
}


def to_dot(drawn: Graph | Net, itemsize: int = 4, look: DrawingLook = PLAIN) -> str:
    """Write a partitioned (or uncut) net in DOT; equal nets give equal text. ``itemsize``: bytes per activation."""
    return drawing_dot(fold_picture(make_picture(drawn, itemsize), look), look.rankdir)


def drawing_dot(shown: Picture | Quotient, rankdir: str) -> str:
    """The DOT of a net, folded or not; ``rankdir`` is the direction of its arrows, TB or LR."""
    lines = quotient_lines(shown, rankdir) if isinstance(shown, Quotient) else dot_lines(shown, rankdir)
    return "\n".join(lines) + "\n"


def dot_lines(shown: Picture, rankdir: str = "TB") -> Iterator[str]:
    """The lines of the DOT file; ``rankdir`` is the direction of its arrows, TB or LR."""
    yield from dot_opening(shown, rankdir)
    for worker, boxes in shown.fields.items():
        yield from _worker_field(worker, boxes, shown)
    for names in shown.rows:
        yield f"  {{ rank=same; {'; '.join(map(quote_dot, names))} }}"
    for arrow in shown.arrows:
        yield f"  {_dot_edge(arrow, shown)}"
    yield from _dot_legend(shown)
    yield "}"


def _worker_field(worker: int, boxes: list[PartBox], shown: Picture) -> Iterator[str]:
    """The DOT cluster of one worker, with an inner cluster for each collective in which it takes part."""
    own = boxes[0].colour
    widest = widest_text([line for box in boxes for line in wrap_name(box.name)], NAME, bold=True)
    margin = field_margin(f"worker {worker}", widest)
    yield f"  subgraph cluster_worker_{worker} {{"
    yield f'    label="worker {worker}" labeljust=l margin={margin}'
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
    extent = box_size(names, small, box.extent, box.is_helper)
    return f"{quote_dot(box.name)} [label={quote_dot(label)} tooltip={quote_dot(box.holds)} {extent} {look}]"


def _traffic_lines(box: PartBox, shown: Picture) -> Iterator[str]:
    """The lines of bytes in a box.

    They are those of a collective's arrows that end there, which are too many for labels of their own, and those of the
    sums of the box's gradient, and of its parameters' gradients.
    """
    yield from (SPACE.join(arrow.label.split("  ")) for arrow in shown.arrows_into[box.name] if arrow.frame >= 0)
    if box.name in shown.reduction_by_box:
        yield f"Σ gradient {ways_text(0, shown.reduction_by_box[box.name].nbytes)} in all"
    if box.name in shown.parameter_sums:
        yield f"Σ gradients {ways_text(0, shown.parameter_sums[box.name])}"


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
    """The legend: a small graph that shows the shapes and lines. Empty if every arrow is a plain one, and no
    gradient is summed."""
    if not shown.legend and not shown.reductions:
        return
    yield "  subgraph cluster_legend {"
    yield '    label="" color="#aaaaaa" style=rounded margin=14 edge [fontsize=9]'
    layer = f'"layer\\ntype\\nshape" {box_size(["layer"], ["type"], "shape", False)} fillcolor="#eeeeee"'
    helper = f'"helper\\ntype\\nshape" {box_size(["helper"], ["type"], "shape", True)} shape=ellipse style=filled'
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
    if shown.reductions:
        yield f'    "legend sum" [label="Σ gradient:\\nreplicas add up\\ntheir gradients" {look}]'
        yield f'    "{last}" -> "legend sum" [style=invis]'
