"""The graph as JSON: what a drawing shows and a test compares, one node and one edge per line."""

from __future__ import annotations

import json
from collections.abc import Iterable

from netpart.draw.graph_picture import make_picture
from netpart.draw.picture import Arrow, CollectiveFrame, Picture, Reduction
from netpart.graph.graph import Graph
from netpart.graph.net import Net

ALWAYS = ("nodes", "edges")


def to_json(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Write the net as docs/drawings.md describes: "about", "nodes", "edges", and what crosses workers: "bridges",
    "collectives" and "reductions"; a list without entries is omitted.

    Shapes have the batch first, ``[]`` is a batch of records, and a Slice has the shape of what it cuts. Bytes are
    those of a step, or of a micro-batch where "about" says so.
    """
    shown = make_picture(drawn, itemsize)
    about = "; ".join(filter(None, (shown.title, shown.traffic)))
    rows: dict[str, Iterable[object]] = {
        "nodes": ({"name": box.name, "shape": list(box.shape), "worker": box.worker} for box in shown.boxes),
        "edges": ([arrow.source, arrow.target] for arrow in shown.arrows),
        "bridges": map(_bridge_row, (arrow for arrow in shown.arrows if arrow.crosses)),
        "collectives": (_collective_row(frame, shown) for frame in shown.frames),
        "reductions": map(_reduction_row, shown.reductions),
    }
    found = {name: list(values) for name, values in rows.items()}
    lists = (f' "{name}": {_json_rows(values)}' for name, values in found.items() if values or name in ALWAYS)
    return "{\n" + ",\n".join((f' "about": {_json_text(about)}', *lists)) + "\n}\n"


def _bridge_row(arrow: Arrow) -> dict[str, object]:
    """One arrow between workers, and its bytes both ways."""
    return {"from": arrow.source, "to": arrow.target, "forward": arrow.forward, "backward": arrow.backward}


def _collective_row(frame: CollectiveFrame, shown: Picture) -> dict[str, object]:
    """One collective, and the bytes that all its members send together."""
    inside = [box.name for box in shown.boxes if box.frame == frame.number]
    both = {"forward": frame.forward, "backward": frame.backward}
    return {"name": frame.name, "members": list(frame.members), **both, "parts": inside}


def _reduction_row(each: Reduction) -> dict[str, object]:
    """One sum of gradients, and the bytes that all its members send together."""
    of = {"parameters": list(each.parameters)} if each.parameters else {"parts": list(each.boxes)}
    return {"name": each.name, "members": list(each.members), "backward": each.nbytes, **of}


def _json_rows(values: Iterable[object]) -> str:
    return "[\n" + ",\n".join(f"  {_json_text(value)}" for value in values) + "\n ]"


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
