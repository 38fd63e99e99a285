"""The rewrite draws SINGA's figures box for box, and agrees with the graphs that SINGA's own program made.

Against the program's graphs layers are compared by worker, type, shape and what feeds them, not by name, and:

- a kSlice there has the shape of one slice, here of what is cut: both are compared by the shape of their source;
- a Split whose readers are all on its own worker is ignored: here several readers simply hang on the layer;
- sources are compared as a set per box: there a Concate lists a worker's own piece in the order of access, which is
  the defect that gave its slices to the wrong readers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netpart.draw import render
from netpart.graph.build import type_name
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, LAYER, SUM, Graph, Part
from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder

DATA = Path(__file__).resolve().parents[1] / "data"
FIGURES = sorted((DATA / "golden").glob("*.json"))
SINGA = sorted((DATA / "singa" / "golden").glob("*.json"))
HELPERS = {
    "slice": "kSlice", "split": "kSplit", "concate": "kConcate", "sum": "kSum",
    BRIDGE_SRC: "kBridgeSrc", BRIDGE_DST: "kBridgeDst",
}  # fmt: skip


def cut(conf: Path, workers: int, overrides: Iterable[str] = ()) -> Graph:
    """The training graph of a job."""
    job = read_job(conf, overrides)
    return partition_job(job.proto, workers, job.folder, phases=("train",)).graph


def workers_of(conf: Path) -> int:
    return read_job(conf).proto.cluster.nworkers_per_group


def drawn(graph: dict[str, Any]) -> tuple[Any, Any]:
    """Nodes and edges of a JSON drawing, without their order."""
    nodes = sorted((n["name"], tuple(n["shape"]), n["worker"]) for n in graph["nodes"])
    return nodes, sorted(map(tuple, graph["edges"]))


@pytest.mark.parametrize("figure", FIGURES, ids=lambda p: p.stem)
def test_a_figure_of_the_seed_is_reproduced(figure: Path) -> None:
    conf = zoo_folder() / "seed" / f"{figure.stem}.conf"
    graph = cut(conf, workers_of(conf))
    assert drawn(json.loads(render(graph, "json"))) == drawn(json.loads(figure.read_text(encoding="utf-8")))


def test_there_are_three_figures_and_five_graphs() -> None:
    assert (len(FIGURES), len(SINGA)) == (3, 5)


def test_location_gives_each_layer_its_worker_whole() -> None:
    graph = cut(zoo_folder() / "seed" / "conv-mnist-location.conf", 3)
    layers = {part.name: part.worker for part in graph.parts if part.kind == LAYER}
    where = {"data": 0, "mnist": 0, "label": 0, "conv1": 1, "relu1": 1, "pool1": 1, "fc1": 2, "loss": 2}
    assert layers == where
    helpers = [part.name for part in graph.parts if part.kind != LAYER]
    assert sorted(helpers) == sorted(
        f"{end}-{edge}" for end in "sd" for edge in ("mnist-conv1", "label-loss", "pool1-fc1")
    )


def test_the_demo_shows_every_kind_of_helper() -> None:
    kinds = {part.kind for part in cut(zoo_folder() / "mnist" / "conv.conf", 3).parts}
    assert kinds == {LAYER, *HELPERS} - {SUM}  # nothing is cut over INPUT; gradients are summed where they meet


@dataclass(frozen=True)
class Seen:
    """One layer or helper of a graph, SINGA's or ours, in the terms both have."""

    type: str
    worker: int
    shape: tuple[int, ...]
    sources: tuple[str, ...]


def theirs(golden: dict[str, Any]) -> dict[str, Seen]:
    """The layers of SINGA's graph by name."""
    return {n["name"]: Seen(n["type"], n["partition_id"], tuple(n["shape"]), tuple(n["src"])) for n in golden["layers"]}


def ours(graph: Graph) -> dict[str, Seen]:
    """The parts of our graph by name."""

    def kind(part: Part) -> str:
        return HELPERS.get(part.kind) or type_name(graph.net.nodes[part.node].conf)

    return {p.name: Seen(kind(p), p.worker, graph.shape(p), tuple(f.part.name for f in p.feeds)) for p in graph.parts}


def comparable(seen: dict[str, Seen]) -> Counter[Any]:
    """How often each (what it is, what feeds it) occurs, under the three rules above."""
    across = {s for box in seen.values() if box.type == "kBridgeSrc" for s in box.sources}
    local = {name for name, box in seen.items() if box.type == "kSplit" and name not in across}

    def look(name: str) -> tuple[str, int, tuple[int, ...]]:
        box = seen[name]
        if name in local:
            return look(box.sources[0])
        return (box.type, box.worker, seen[box.sources[0]].shape if box.type == "kSlice" else box.shape)

    boxes = [(name, box) for name, box in seen.items() if name not in local]
    return Counter((look(name), tuple(sorted(look(s) for s in box.sources))) for name, box in boxes)


def overrides(golden: dict[str, Any]) -> list[str]:
    """``"fc2=1,tanh2=1"`` as netpart's overrides."""
    pairs = (pair.split("=") for pair in golden["overrides"].split(",") if pair)
    return [f"{layer}.partition_dim={axis}" for layer, axis in pairs]


@pytest.mark.parametrize("path", SINGA, ids=lambda p: p.stem)
def test_a_graph_of_singas_own_program_is_reproduced(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    graph = cut(DATA / "singa" / "conf" / golden["conf"], golden["npartitions"], overrides(golden))
    assert comparable(ours(graph)) == comparable(theirs(golden))


def test_the_comparison_sees_a_difference() -> None:
    golden = json.loads(next(p for p in SINGA if "hybrid" in p.stem).read_text(encoding="utf-8"))
    seen = theirs(golden)
    assert comparable(seen) == comparable(dict(reversed(seen.items())))
    bridge = next(name for name, box in seen.items() if box.type == "kBridgeDst")
    moved = Seen("kBridgeDst", 7, seen[bridge].shape, seen[bridge].sources)
    assert comparable(seen | {bridge: moved}) != comparable(seen)


def test_a_split_within_a_worker_does_not_count() -> None:
    plain = {"a": Seen("kReLU", 0, (2,), ()), "b": Seen("kReLU", 0, (2,), ("a",)), "c": Seen("kTanh", 0, (2,), ("a",))}
    split = {
        "a": plain["a"], "s": Seen("kSplit", 0, (2,), ("a",)),
        "b": Seen("kReLU", 0, (2,), ("s",)), "c": Seen("kTanh", 0, (2,), ("s",)),
    }  # fmt: skip
    assert comparable(plain) == comparable(split)


@pytest.mark.parametrize(("workers", "parts"), [(2, 82), (4, 228)])
def test_alexnet_with_its_inner_products_cut_has_as_many_boxes_as_in_singa(workers: int, parts: int) -> None:
    cuts = [f"{layer}.partition_dim=1" for layer in ("ip6", "relu6", "drop6", "ip7", "relu7", "drop7", "ip8")]
    assert len(cut(DATA / "singa" / "conf" / "alexnet" / "job.conf", workers, cuts).parts) == parts
