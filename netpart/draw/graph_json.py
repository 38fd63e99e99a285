"""The graph as JSON: what a drawing shows and a test compares, one node and one edge per line."""

from __future__ import annotations

import json
from collections.abc import Iterable

from netpart.draw.picture import picture
from netpart.graph.graph import Graph
from netpart.graph.net import Net


def to_json(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Writes ``{"about", "nodes": [{"name", "shape", "worker"}], "edges": [[from, to]]}``.

    Shapes have the batch first, ``[]`` is a batch of records, and a Slice has the shape of what it cuts.
    """
    shown = picture(drawn, itemsize)
    about = "; ".join(filter(None, (shown.title, shown.traffic)))
    nodes = ({"name": box.name, "shape": list(box.shape), "worker": box.worker} for box in shown.boxes)
    edges = ([arrow.source, arrow.target] for arrow in shown.arrows)
    parts = (f' "about": {_text(about)}', f' "nodes": {_rows(nodes)}', f' "edges": {_rows(edges)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _rows(values: Iterable[object]) -> str:
    return "[\n" + ",\n".join(f"  {_text(value)}" for value in values) + "\n ]"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
