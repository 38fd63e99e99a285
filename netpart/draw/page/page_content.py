"""Content of the page as columns: boxes, layouts, traffic, explanations and the order of a step, as JSON takes them.

Rows are long, names repeat, and boxes that look alike share a layout, so the text of GPT-2's 3 552 parts compresses to
a twentieth. Every table is an object of columns of equal length. Boxes are referred to by number: of the whole net 0,
others before what is in them. Texts that occur often are in ``texts``, and are referred to by number as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from netpart.draw.graph_picture import make_picture
from netpart.draw.layer_groups import Nesting
from netpart.draw.page.fold_insides import Inside, arrow_traffic, find_insides, fold_signatures
from netpart.draw.page.fold_layouts import FoldLayout, label_box, lay_out_insides
from netpart.draw.page.fold_tree import FoldBox, FoldTree, join_alike
from netpart.draw.page.step_order import VERBS, StepEvent, order_step
from netpart.draw.palette import worker_colour
from netpart.draw.picture import Arrow, Picture
from netpart.graph.graph import BRIDGE_SRC, CONCATE, SUM, Graph
from netpart.graph.partition import Partition
from netpart.plan.text.alike_alternatives import alternatives_by_layer
from netpart.plan.text.alternatives import CutAlternative
from netpart.plan.text.explain import LayerExplainer, LayerExplanation
from netpart.plan.text.plan_table import tabulate_partition
from netpart.progress import report_progress
from netpart.proto.element import float_size

Columns = dict[str, list[Any]]


class NumberedTexts:
    """Texts, each once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of ``text``."""
        return self.numbers.setdefault(text, len(self.numbers))


@dataclass
class PageSource:
    """What a page shows: the ``graph`` of a training net over its whole mini-batch, the ``partition`` that a run has of
    it, the blocks of its text, and its folder. ``seconds`` is how long its layouts may take."""

    graph: Graph
    partition: Partition
    nesting: Nesting
    folder: Path | None = None
    seconds: float = inf

    @cached_property
    def shown(self) -> Picture:
        """The picture of the graph."""
        return make_picture(self.graph, float_size(self.partition.job))


def page_content(source: PageSource) -> dict[str, Any]:
    """The content of the page, as docs/drawings.md describes it. Raises what ``tabulate_partition`` raises."""
    report_progress("folding the net")
    graph = FoldedGraph(source.shown, source.nesting, _whole_shapes(source.graph), source.seconds)
    texts = graph.texts
    report_progress("pricing the step")
    table = asdict(tabulate_partition(source.partition))
    explainer = LayerExplainer(source.partition)
    report_progress("playing the step")
    events = order_step(source.partition)
    content = {
        "about": _about(source, table), "check": table, **graph.columns(),
        "why": _why_columns(explainer, graph, texts), "steps": _step_columns(events, graph, texts),
        "layers": _layer_columns(source, explainer, graph, texts),
    }  # fmt: skip
    return {**content, "texts": list(texts.numbers)}


def _about(source: PageSource, table: dict[str, Any]) -> dict[str, Any]:
    """The heading, and what the page is of."""
    shown = source.shown
    return {
        "title": shown.title, "traffic": shown.traffic, "workers": shown.workers,
        "moved": sum(row["moved"] for row in table["layers"]), "verbs": VERBS,
        "colours": [list(asdict(worker_colour(worker)).values()) for worker in range(shown.workers)],
    }  # fmt: skip


def _whole_shapes(graph: Graph) -> dict[str, str]:
    """The shape of each uncut layer, as text."""
    layers = (node.layer for node in graph.net.nodes)
    return {layer.name: "×".join(map(str, layer.output.shape)) or "records" for layer in layers}


class FoldedGraph:
    """The boxes of a picture with their layouts, in numbers."""

    def __init__(self, shown: Picture, nesting: Nesting | None, whole: dict[str, str], seconds: float = inf) -> None:
        self.texts = NumberedTexts()
        self.tree = FoldTree(shown, nesting)
        join_alike(self.tree.root, fold_signatures(self.tree, find_insides(self.tree)))
        self.insides = find_insides(self.tree)
        self.boxes = list(self.tree.root.walk())
        self.numbers = {box: number for number, box in enumerate(self.boxes)}
        sums = {group.name: sum for group, sum in zip(self.tree.flow.groups, self.tree.flow.sums, strict=True)}
        self.labels = {box: label_box(self.tree, box, sums, whole) for box in self.boxes}
        signatures = fold_signatures(self.tree, self.insides)
        self.layout_of, self.layouts = lay_out_insides(self.tree, self.insides, signatures, self.labels, seconds)

    def layer_number(self, name: str) -> int:
        """The number of the box of a layer, -1 for none."""
        found = self.tree.layers.get(name)
        return -1 if found is None else self.numbers[found]

    def columns(self) -> dict[str, Any]:
        """The tables of boxes, layouts, moves, frames and sums."""
        first = {number: box for box, number in reversed(self.layout_of.items())}
        return {
            "boxes": self._box_columns(),
            "layouts": [self._layout_row(layout, self.insides[first[n]]) for n, layout in enumerate(self.layouts)],
            "moves": self._move_columns(), "frames": self._frame_columns(), "sums": self._sum_columns(),
        }  # fmt: skip

    def _box_columns(self) -> Columns:
        number = self.texts.number
        labels = [self.labels[box] for box in self.boxes]
        return {
            "name": [box.name for box in self.boxes],
            "kind": [number(_box_kind(box)) for box in self.boxes],
            "parent": [self.numbers[box.parent] if box.parent else -1 for box in self.boxes],
            "layout": [self.layout_of.get(box, -1) for box in self.boxes],
            "ports": [self.insides[box].ports if box in self.insides else [] for box in self.boxes],
            "above": [len(self.insides[box].above) if box in self.insides else 0 for box in self.boxes],
            "head": [number(label.name) if label.name != box.name else -1
                     for box, label in zip(self.boxes, labels, strict=True)],
            "small": [number("\n".join(label.small)) for label in labels],
            "extent": [number(label.extent) for label in labels],
            "uncut": [number("\n".join(label.uncut)) for label in labels],
            "whole": [number(label.whole) for label in labels],
            "workers": [number(",".join(map(str, _workers_of(box)))) for box in self.boxes],
            "frame": [box.part.frame if box.part else -1 for box in self.boxes],
        }  # fmt: skip

    def _layout_row(self, layout: FoldLayout, inside: Inside) -> dict[str, Any]:
        """A layout with what its arrows move; points are rounded to tenths."""
        arrows = {(a, b): arrow for a, b, arrow in inside.numbered()}
        rows = []
        for a, b, at, points in layout.arrows:
            arrow = arrows[a, b]
            traffic = arrow_traffic(self.tree, arrow)
            flags = 2 * arrow.crosses + arrow.gradient
            text = self.texts.number("\n".join(traffic.lines))
            place = [*map(_tenths, at)] if at else []
            rows.append([a, b, flags, traffic.forward, traffic.backward, text, place, [*map(_tenths, points)]])
        return {
            "size": [_tenths(layout.width), _tenths(layout.height)],
            "boxes": [_tenths(value) for box in layout.boxes for value in box],
            "fields": [[worker, *map(_tenths, box)] for worker, box in layout.fields],
            "frames": [[child, *map(_tenths, box)] for child, box in layout.frames],
            "arrows": rows,
        }  # fmt: skip

    def _move_columns(self) -> Columns:
        """What moves between two layers, over all workers."""
        groups = self.tree.flow.groups
        arrows = [arrow for arrow in self.tree.flow.arrows if arrow.traffic.arrows]
        return {
            "source": [self.layer_number(groups[arrow.source].name) for arrow in arrows],
            "target": [self.layer_number(groups[arrow.target].name) for arrow in arrows],
            "forward": [arrow.traffic.forward for arrow in arrows],
            "backward": [arrow.traffic.backward for arrow in arrows],
            "frames": [sorted({a.frame for a in arrow.traffic.arrows if a.frame >= 0}) for arrow in arrows],
            "bridges": [[[self.numbers[self.tree.parts[a.source]], self.numbers[self.tree.parts[a.target]],
                          a.forward, a.backward] for a in arrow.traffic.arrows] for arrow in arrows],
            "needs": [sorted({self._needing_box(a) for a in arrow.traffic.arrows}) for arrow in arrows],
        }  # fmt: skip

    def _needing_box(self, arrow: Arrow) -> int:
        """The helper that explains why ``arrow`` is there: what joins what it brings, or else its receiving end."""
        reader = self.tree.parts[self._first_reader.get(arrow.target, arrow.target)]
        joins = reader.part is not None and reader.part.kind in (CONCATE, SUM)
        return self.numbers[reader if joins else self.tree.parts[arrow.target]]

    @cached_property
    def _first_reader(self) -> dict[str, str]:
        """A part that reads each part, by name."""
        return {arrow.source: arrow.target for arrow in reversed(self.tree.shown.arrows)}

    def _frame_columns(self) -> Columns:
        frames = self.tree.shown.frames
        return {
            "name": [frame.name for frame in frames], "members": [list(frame.members) for frame in frames],
            "forward": [frame.forward for frame in frames], "backward": [frame.backward for frame in frames],
        }  # fmt: skip

    def _sum_columns(self) -> Columns:
        """The sums of gradients, each with the layers that it is of."""
        sums = self.tree.shown.reductions
        return {
            "name": [each.name for each in sums], "members": [list(each.members) for each in sums],
            "bytes": [each.nbytes for each in sums],
            "layers": [sorted(self._summed_layers(each.boxes, each.parameters)) for each in sums],
        }  # fmt: skip

    def _summed_layers(self, boxes: Iterable[str], parameters: Iterable[str]) -> set[int]:
        names = [self.tree.parts[box].layer for box in boxes]
        names += [parameter.split("[")[0].rpartition("/")[0] for parameter in parameters]
        return {self.layer_number(name) for name in names} - {-1}


def _box_kind(box: FoldBox) -> str:
    """What a box is: a part of a layer is a shard, or the kind of its helper."""
    if box.part is None:
        return box.kind
    return box.part.kind if box.part.is_helper else "shard"


def _workers_of(box: FoldBox) -> tuple[int, ...]:
    return (box.part.worker,) if box.part else box.group.workers


def _tenths(value: float) -> float:
    """``value`` with one decimal, as an integer if it is one."""
    found = round(value, 1)
    return int(found) if found == int(found) else found


def _why_columns(explainer: LayerExplainer, graph: FoldedGraph, texts: NumberedTexts) -> dict[str, Any]:
    """Why each helper is there, by the number of its box; and each collective, by its number."""
    parts = explainer.partition.graph.parts
    helpers = [part for part in parts if explainer.around.helps(part) and part.name in graph.tree.parts]
    reasons = {part.name: explainer.reasons.of_one(part).why for part in helpers if part.kind != BRIDGE_SRC}
    carried = {
        f"{found.kind} {found.name}": explainer.reasons.of_whole(found, part).why
        for part in reversed(parts)
        if (found := part.collective) is not None
    }
    return {
        "box": [graph.numbers[graph.tree.parts[name]] for name in reasons],
        "text": [texts.number(why) for why in reasons.values()],
        "frames": [texts.number(carried.get(frame.name, "")) for frame in graph.tree.shown.frames],
    }


def _layer_columns(
    source: PageSource, explainer: LayerExplainer, graph: FoldedGraph, texts: NumberedTexts
) -> dict[str, Any]:
    """The explanation of each layer of the job, and its other cuts."""
    others = alternatives_by_layer(source.partition, source.folder)
    found = [explainer.explain(node.name) for node in source.partition.graph.net.nodes if not node.inserted]
    number = texts.number
    return {
        "box": [graph.layer_number(each.layer) for each in found],
        "cut": [number(each.cut) for each in found],
        "moves": [each.moves for each in found],
        "sums": [[number(text) for text in each.sums] for each in found],
        "shards": [_shard_rows(each, texts) for each in found],
        "cuts": [_cut_rows(each.layer, others.get(each.layer, ()), texts) for each in found],
    }


def _shard_rows(found: LayerExplanation, texts: NumberedTexts) -> list[list[Any]]:
    """The parts of a layer: the name of each, and in words what it computes and needs."""
    return [
        [each.name, texts.number(each.computes), [texts.number(need) for need in each.needs]] for each in found.pieces
    ]


def _cut_rows(layer: str, cuts: Iterable[CutAlternative], texts: NumberedTexts) -> list[list[Any]]:
    """The cuts of a layer: words, bytes, FLOPs, whether it is the present one, and its settings without the name."""
    return [
        [texts.number(cut.cut), cut.moved, cut.flops, int(cut.present), [s.removeprefix(layer) for s in cut.settings]]
        for cut in cuts
    ]


def _step_columns(events: list[list[StepEvent]], graph: FoldedGraph, texts: NumberedTexts) -> dict[str, Any]:
    """The order of a step: for each worker columns of its acts. Channels are numbered."""
    channels: dict[object, int] = {}
    return {"workers": [_worker_steps(own, graph, texts, channels) for own in events]}


def _worker_steps(
    events: list[StepEvent], graph: FoldedGraph, texts: NumberedTexts, channels: dict[object, int]
) -> Columns:
    acts = [event.act for event in events]
    parts = graph.tree.parts
    return {
        "tick": [event.tick for event in events],
        "verb": [act.verb for act in acts],
        "box": [graph.numbers[parts[act.name]] if act.name in parts else graph.layer_number(act.layer) for act in acts],
        "text": [-1 if act.name in parts else texts.number(act.name) for act in acts],
        "peer": [act.peer for act in acts],
        "micro": [act.micro for act in acts],
        "channel": [-1 if act.channel is None else channels.setdefault(act.channel, len(channels)) for act in acts],
    }
