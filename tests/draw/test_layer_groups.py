"""Groups of layers: blocks by their names, runs of equal ones, and as deep as a page has room."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from netpart.draw.graph_picture import make_picture
from netpart.draw.layer_groups import fold_blocks, name_nesting, single_groups
from netpart.draw.picture import Arrow, PartBox, Picture
from netpart.graph.graph import LAYER, Graph
from netpart.plan.partition import partition_phase
from tests.draw.conftest import job_of


def chain(names: list[str]) -> Picture:
    """A net on one worker in which each layer reads the one before."""
    boxes = tuple(PartBox(name, LAYER, name, "ReLU", (8, 4), "8×4", name, 0) for name in names)
    arrows = tuple(Arrow(a, b, False, True) for a, b in pairwise(names))
    return Picture("chain", "train", 1, boxes, arrows)


def names_of(shown: Picture, nesting: dict[str, tuple[str, ...]] | None = None) -> list[str]:
    return [group.name for group in fold_blocks(shown, nesting).groups]


def test_blocks_are_found_by_names() -> None:
    shown = chain(["data", "b1-fc", "b1-relu", "b2-fc", "b2-relu", "b3-fc", "b3-relu", "loss"])
    assert names_of(shown) == ["data", "3 × b1 … b3", "loss"]


def test_names_with_hyphens_alone_are_no_block() -> None:
    assert name_nesting(["conv-1", "conv-2", "pool-1", "data"]) == {}
    assert name_nesting(["b1-fc", "b1-relu", "b2-fc", "b2-relu", "c-fc"]).keys() == {
        "b1-fc", "b1-relu", "b2-fc", "b2-relu",
    }  # fmt: skip


@pytest.mark.parametrize("change", [{"worker": 1}, {"extent": "8×5"}, {"type": "GELU"}])
def test_blocks_that_differ_are_drawn_apart(change: dict[str, Any]) -> None:
    shown = chain(["data", "b1-fc", "b1-relu", "b2-fc", "b2-relu", "b3-fc", "b3-relu"])
    boxes = tuple(replace(box, **change) if box.name == "b2-relu" else box for box in shown.boxes)
    assert names_of(replace(shown, boxes=boxes)) == ["data", "b1", "b2", "b3"]


def nested_names(outer: int) -> dict[str, tuple[str, ...]]:
    """``outer`` instances of a layer kBlock, each of two blocks that differ."""
    inner = {"in": ("fc", "relu"), "out": ("fc", "gelu")}
    return {
        f"b{n}-{block}-{layer}": ("b", f"b{n}", f"b{n}-{block}", f"b{n}-{block}")
        for n in range(1, outer + 1)
        for block, layers in inner.items()
        for layer in layers
    }


def test_the_innermost_blocks_that_fit_on_a_page_are_folded() -> None:
    few, many = nested_names(2), nested_names(21)
    assert names_of(chain(["data", *few]), few) == ["data", "b1-in", "b1-out", "b2-in", "b2-out"]
    assert names_of(chain(["data", *many]), many) == ["data", "21 × b1 … b21"]


def test_a_block_around_another_is_folded_whole() -> None:
    """Its first and last layer are around the inner block: as boxes these two would read each other."""
    names = ["b1-norm", "b1-in-fc", "b1-in-relu", "b1-add"]
    around = {name: ("b", "b1", *["b1-in"] * 2 * ("-in-" in name)) for name in names}
    assert names_of(chain(["data", *names]), around) == ["data", "b1"]


def test_single_groups_are_the_boxes_of_layers(lenet: Graph) -> None:
    shown = make_picture(lenet)
    assert [group.name for group in single_groups(shown)] == [part.name for part in lenet.parts if part.kind == LAYER]


@pytest.mark.parametrize(
    ("name", "boxes", "block"),
    [
        ("gpt/gpt2", 7, "12 × b1 … b12"),
        ("vit/vit-b16", 11, "12 × b1 … b12"),
        ("resnet/resnet18", 16, "2 × s2b1 … s2b2"),
        ("unet/unet2d", 14, "u4"),
    ],
)
def test_published_nets_are_a_page(name: str, boxes: int, block: str) -> None:
    job = job_of(name)
    graph = partition_phase(job.proto, 4, "train", job.folder)
    around = {node.name: job.blocks_around(node.at) for node in graph.net.nodes}
    found = names_of(make_picture(graph), {layer: blocks for layer, blocks in around.items() if blocks})
    assert (len(found), block in found) == (boxes, True)
