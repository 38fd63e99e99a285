"""Equal chains of layers are found whatever their names are, and folding them loses no part of any net."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from random import Random

import pytest

from netpart.draw.equal_chains import EqualChains, find_equal_chains, layer_flow
from netpart.draw.graph_picture import make_picture
from netpart.draw.layer_groups import find_nesting, fold_blocks
from netpart.draw.page.fold_insides import find_insides, fold_signatures
from netpart.draw.page.fold_tree import PART, RUN, FoldTree, join_alike
from netpart.draw.picture import Arrow, PartBox, Picture
from netpart.graph.graph import LAYER
from netpart.plan.partition import partition_phase
from tests.draw.conftest import job_of

Made = tuple[str, str, tuple[int, ...]]
"""A layer: name, type, and how far before it each one is that it reads."""


def picture_of(layers: list[Made], workers: int = 1) -> Picture:
    """A net of these layers, each with a part on every worker."""
    boxes, arrows = [], []
    for number, (name, kind, offsets) in enumerate(layers):
        for worker in range(workers):
            boxes.append(PartBox(f"{name}-{worker:02}", LAYER, name, kind, (8, 4), "8×4", name, worker))
            sources = (layers[number - offset][0] for offset in offsets)
            arrows += [Arrow(f"{source}-{worker:02}", boxes[-1].name, False, True) for source in sources]
    return Picture("made", "train", workers, tuple(boxes), tuple(arrows))


def random_layers(random: Random) -> list[Made]:
    """Chains that are written once or several times, with layers between them; names say nothing."""
    names = random.sample([f"{a}{b}{c}" for a in "pqrs" for b in "tuvw" for c in "xyz-"], 64)
    found: list[Made] = [(names.pop(), "Data", ())]
    while len(names) > 20:
        length = random.randint(1, 6)
        pattern = [
            (random.choice(("Inner", "ReLU", "Add")), tuple({1, random.randint(1, length + 1)})) for _ in range(length)
        ]
        for kind, offsets in pattern * random.choice((1, 1, 2, 3, 4)):
            if names:
                found.append((names.pop(), kind, tuple(o for o in offsets if o <= len(found))))
    return found


@pytest.mark.parametrize("seed", range(200))
def test_unfolding_gives_the_same_nodes(seed: int) -> None:
    random = Random(seed)
    shown = picture_of(random_layers(random), random.randint(1, 3))
    parts = sorted(box.name for box in shown.boxes)
    folded = fold_blocks(shown)
    assert sorted(box.name for group in folded.groups for box in group.boxes) == parts
    tree = FoldTree(shown, None)
    join_alike(tree.root, fold_signatures(tree, find_insides(tree)))
    assert sorted(box.name for box in tree.root.walk() if box.kind == PART) == parts
    assert sorted(tree.root.layers) == sorted({box.layer for box in shown.boxes})
    for row in find_equal_chains(layer_flow(shown)):
        check_equal(shown, row)


def check_equal(shown: Picture, row: EqualChains) -> None:
    """The chains of ``row`` have equal types, and read what is equally far before them."""
    flow = layer_flow(shown)
    reads = Counter((arrow.target, arrow.target - arrow.source) for arrow in flow.arrows)
    looks = [
        [(flow.groups[n].boxes[0].type, sorted(o for t, o in reads.elements() if t == n)) for n in numbers]
        for numbers in row.chains()
    ]
    assert len(looks) == row.times >= 2
    assert all(look == looks[0] for look in looks)


BLOCK = [("norm", "Norm", (1,)), ("fc", "Inner", (1,)), ("act", "ReLU", (1,)), ("add", "Add", (1, 3))]


def repeated(times: int, *after: Made) -> Picture:
    layers: list[Made] = [("data", "Data", ()), ("embed", "Inner", (1,))]
    layers += [(f"{name}{n}", kind, reads) for n in range(times) for name, kind, reads in BLOCK]
    return picture_of([*layers, *after])


def test_they_begin_where_one_tensor_leads_from_one_to_the_next() -> None:
    """The norm at the end is like that of a block, so five layers more than the chains would do."""
    shown = repeated(3, ("last", "Norm", (1,)), ("loss", "Loss", (1,)))
    assert find_equal_chains(layer_flow(shown)) == [EqualChains(2, 4, 3)]
    assert [group.name for group in fold_blocks(shown).groups] == ["data", "embed", "3 × norm0 … norm2", "last", "loss"]


def test_few_short_ones_and_those_that_differ_are_none() -> None:
    pair = [("data", "Data", ()), ("a", "Inner", (1,)), ("b", "ReLU", (1,)), ("c", "Inner", (1,)), ("d", "ReLU", (1,))]
    assert find_equal_chains(layer_flow(picture_of(pair))) == []
    shown = repeated(3)
    other = Picture(shown.name, "train", 1, shown.boxes, shown.arrows, confs={"act1": b"GELU"})
    assert find_equal_chains(layer_flow(other)) == []


def test_names_of_blocks_stand_where_both_are_there() -> None:
    names = [f"b{n}-{name}" for n in range(3) for name in ("x", "y", "z", "w")]
    kinds = [kind for _ in range(3) for kind in ("Norm", "Inner", "ReLU", "Loss")]
    shown = picture_of(
        [(name, kind, (1,) if n else ()) for n, (name, kind) in enumerate(zip(names, kinds, strict=True))]
    )
    assert find_nesting(layer_flow(shown))["b1-x"] == ("b1", "b1")


@pytest.mark.parametrize("name", ["gpt/tiny", "gpt/tiny-heads"])
def test_blocks_without_names_of_their_own(name: str) -> None:
    job = job_of(name)
    shown = make_picture(partition_phase(job.proto, 2, "train", job.folder))
    folded = fold_blocks(shown)
    assert [group.name for group in folded.groups] == [
        "text", "embed", "4 × norm-a1 … norm-a4", "norm", "logits", "loss",
    ]  # fmt: skip
    tree = FoldTree(shown, None)
    join_alike(tree.root, fold_signatures(tree, find_insides(tree)))
    (run,) = [box for box in tree.root.walk() if box.kind == RUN and box.parent is tree.root]
    assert [child.name for child in run.children] == ["norm-a1", "norm-a2", "norm-a3", "norm-a4"]
    assert set(chain.from_iterable(child.layers for child in run.children)) == set(run.layers)
