"""The graph as JSON: what a drawing shows and a test compares, one node and one edge per line."""

from __future__ import annotations

import json
from collections.abc import Iterable

from netpart.draw.graph_picture import picture
from netpart.draw.picture import Frame, Picture
from netpart.graph.graph import Graph
from netpart.graph.net import Net


def to_json(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Writes ``{"about", "nodes": [{"name", "shape", "worker"}], "edges": [[from, to]], "collectives"}``.

    Each of "collectives" has its name, members, parts and the bytes of a step both ways; it is left out where there is
    none. Shapes have the batch first, ``[]`` is a batch of records, and a Slice has the shape of what it cuts.
    """
    shown = picture(drawn, itemsize)
    about = "; ".join(filter(None, (shown.title, shown.traffic)))
    nodes = ({"name": box.name, "shape": list(box.shape), "worker": box.worker} for box in shown.boxes)
    edges = ([arrow.source, arrow.target] for arrow in shown.arrows)
    parts: tuple[str, ...] = (f' "about": {_text(about)}', f' "nodes": {_rows(nodes)}', f' "edges": {_rows(edges)}')
    if shown.frames:
        frames = (as_json(frame, shown) for frame in shown.frames)
        parts += (f' "collectives": {_rows(frames)}',)
    return "{\n" + ",\n".join(parts) + "\n}\n"


def as_json(frame: Frame, shown: Picture) -> dict[str, object]:
    """One collective."""
    inside = [box.name for box in shown.boxes if box.frame == frame.number]
    both = {"forward": frame.forward, "backward": frame.backward}
    return {"name": frame.name, "members": list(frame.members), **both, "parts": inside}


def _rows(values: Iterable[object]) -> str:
    return "[\n" + ",\n".join(f"  {_text(value)}" for value in values) + "\n ]"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
