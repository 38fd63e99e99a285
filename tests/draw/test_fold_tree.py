"""The tree of boxes of the page, its ports, and layouts that alike boxes share."""

from __future__ import annotations

from itertools import pairwise

from netpart.draw.page.fold_insides import find_insides, fold_signatures
from netpart.draw.page.fold_tree import BLOCK, LAYER, RUN, FoldTree, join_alike
from netpart.draw.page.page_content import FoldedGraph
from netpart.draw.picture import Arrow, PartBox, Picture
from netpart.graph.graph import LAYER as LAYER_PART


def chain(names: list[str], last: int = 4) -> Picture:
    """A net on one worker in which each layer reads the one before; the last one has another width."""
    shapes = [(8, 4)] * (len(names) - 1) + [(8, last)]
    boxes = tuple(
        PartBox(name, LAYER_PART, name, "ReLU", shape, "×".join(map(str, shape)), name, 0)
        for name, shape in zip(names, shapes, strict=True)
    )
    return Picture("chain", "train", 1, boxes, tuple(Arrow(a, b, False, True) for a, b in pairwise(names)))


def tree_of(shown: Picture) -> FoldTree:
    tree = FoldTree(shown, None)
    join_alike(tree.root, fold_signatures(tree, find_insides(tree)))
    return tree


BLOCKS = ["data", "b1-fc", "b1-relu", "b2-fc", "b2-relu", "b3-fc", "b3-relu", "loss"]


def test_blocks_that_are_alike_are_a_run() -> None:
    root = tree_of(chain(BLOCKS)).root
    assert [(child.kind, child.name) for child in root.children] == [
        (LAYER, "data"), (RUN, "3 × b1 … b3"), (LAYER, "loss"),
    ]  # fmt: skip
    assert [child.name for child in root.children[1].children] == ["b1", "b2", "b3"]
    assert root.children[1].layers == ("b1-fc", "b1-relu", "b2-fc", "b2-relu", "b3-fc", "b3-relu")


def test_two_alike_blocks_or_one_that_differs_are_no_run() -> None:
    assert [c.kind for c in tree_of(chain(BLOCKS[:5])).root.children] == [LAYER, BLOCK, BLOCK]
    assert RUN not in {c.kind for c in tree_of(chain(BLOCKS[:-1], last=9)).root.children}


def test_ports_are_what_is_read_outside() -> None:
    tree = tree_of(chain(BLOCKS))
    insides = find_insides(tree)
    second = tree.layers["b2-fc"].parent
    assert second is not None
    assert insides[second].ports == ["b1-relu", "→ b3-fc"]
    assert insides[tree.root].ports == []
    # Above is number 2, below number 3: the two layers are 0 and 1.
    assert [(a, b) for a, b, _ in insides[second].numbered()] == [(2, 0), (0, 1), (1, 3)]


def test_boxes_that_are_alike_share_a_layout() -> None:
    folded = FoldedGraph(chain(BLOCKS), None, dict.fromkeys(BLOCKS, "8×4"))
    numbers = {box.name: folded.layout_of[box] for box in folded.boxes if box in folded.layout_of}
    assert numbers["b1"] == numbers["b2"] == numbers["b3"]
    assert numbers["b1-fc"] == numbers["b3-fc"]
    assert numbers["chain"] != numbers["b1"]
    layout = folded.layouts[numbers["b1"]]
    assert len(layout.boxes) == 4
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y, _, _ in layout.boxes)
    ys = [y for _, y, _, _ in layout.boxes]
    assert ys[2] < ys[0] < ys[1] < ys[3]  # the port above, both layers, the port below
