"""Text of a graph for terminals: one line per part, worker by worker, in the order in which they run.

worker 1
  ⇐ d-slice-mnist-conv1-01   2×28×28     worker 0 (6.1 KiB)
    conv1-01                 2×8×27×27   d-slice-mnist-conv1-01
"""

from __future__ import annotations

from collections.abc import Iterator

from netpart.draw.graph_picture import make_picture
from netpart.draw.look import PLAIN, DrawingLook, fold_picture
from netpart.draw.picture import CollectiveFrame, PartBox, Picture, Reduction
from netpart.draw.quotient import Quotient
from netpart.draw.quotient_text import quotient_text
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, Graph
from netpart.graph.net import Net

MARKS = {BRIDGE_SRC: "⇒", BRIDGE_DST: "⇐"}


def to_text(drawn: Graph | Net, itemsize: int = 4, look: DrawingLook = PLAIN) -> str:
    """Write a line for every part: its operation, shape and sources; arrows in the margin mark bridges."""
    shown = fold_picture(make_picture(drawn, itemsize), look)
    return "\n".join(quotient_text(shown) if isinstance(shown, Quotient) else _text_lines(shown)) + "\n"


def _text_lines(shown: Picture) -> Iterator[str]:
    """The lines of the drawing."""
    yield shown.title
    if shown.traffic:
        yield shown.traffic
    moves: list[CollectiveFrame | Reduction] = [*shown.frames, *shown.reductions]
    for each in moves:
        yield f"  {each.label}  among workers {', '.join(map(str, each.members))}"
    columns = [max(map(len, column)) for column in zip(*(_part_cells(box, shown) for box in shown.boxes), strict=True)]
    for worker, boxes in shown.fields.items():
        yield f"\nworker {worker}"
        for box in boxes:
            name, kind, extent = (c.ljust(n) for c, n in zip(_part_cells(box, shown), columns, strict=True))
            yield f"  {MARKS.get(box.kind, ' ')} {name}  {kind}  {extent}  {_feed_text(box, shown)}".rstrip()


def _part_cells(box: PartBox, shown: Picture) -> tuple[str, str, str]:
    """The aligned columns of a part's line: name, operation and shape."""
    return box.name, box.type + ", Σ gradient" * (box.name in shown.reduction_by_box), box.extent


def _feed_text(box: PartBox, shown: Picture) -> str:
    """The sources of a part; at the receiving end of a bridge also the bytes that cross it."""
    feeds = [arrow.source + (f"  {arrow.label}" if arrow.crosses else "") for arrow in shown.arrows_into[box.name]]
    return f"← {', '.join(feeds)}" if feeds else ""
