"""JSON of a graph: the content of a drawing, with one node or edge per line so that tests and diffs can compare it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from netpart.draw.graph_picture import make_picture
from netpart.draw.picture import Arrow, CollectiveFrame, Picture, Reduction
from netpart.graph.graph import Graph
from netpart.graph.net import Net

ALWAYS = ("nodes", "edges")


def to_json(drawn: Graph | Net, itemsize: int = 4) -> str:
    """Write the net as JSON in the format of docs/drawings.md.

    It has "about", "nodes" and "edges", and for the traffic between workers "bridges", "collectives" and "reductions".
    These last three are omitted if they are empty. Shapes have the batch first; ``[]`` is a batch of records; a Slice
    has the shape of what it cuts. Bytes are those of a step, or of a micro-batch if "about" mentions micro-batches.
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
    """One arrow between workers, with its bytes forward and backward."""
    return {"from": arrow.source, "to": arrow.target, "forward": arrow.forward, "backward": arrow.backward}


def _collective_row(frame: CollectiveFrame, shown: Picture) -> dict[str, object]:
    """One collective, with the bytes that all its members send together."""
    inside = [box.name for box in shown.boxes if box.frame == frame.number]
    both = {"forward": frame.forward, "backward": frame.backward}
    return {"name": frame.name, "members": list(frame.members), **both, "parts": inside}


def _reduction_row(each: Reduction) -> dict[str, object]:
    """One sum of gradients, with the bytes that all its members send together."""
    of = {"parameters": list(each.parameters)} if each.parameters else {"parts": list(each.boxes)}
    return {"name": each.name, "members": list(each.members), "backward": each.nbytes, **of}


def _json_rows(values: Iterable[object]) -> str:
    return "[\n" + ",\n".join(f"  {_json_text(value)}" for value in values) + "\n ]"


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
