"""The drawing for a terminal."""

from __future__ import annotations

from netpart.draw.text import to_text
from netpart.graph.graph import Graph
from netpart.graph.net import Net

UNCUT = """\
conv-mnist, train: 8 parts on 1 worker

worker 0
    data   ShardData     8 records
    mnist  Mnist         8×28×28    ← data
    label  Label         8          ← data
    conv1  Convolution   8×8×27×27  ← mnist
    relu1  ReLU          8×8×27×27  ← conv1
    pool1  Pooling       8×8×13×13  ← relu1
    fc1    InnerProduct  8×10       ← pool1
    loss   SoftmaxLoss   8×10       ← fc1, label
"""


def test_an_uncut_net_reads_as_a_table(net: Net) -> None:
    assert to_text(net) == UNCUT


def test_parts_stand_under_their_worker_in_order(lenet: Graph) -> None:
    blocks = to_text(lenet).split("\nworker ")[1:]
    for worker, block in enumerate(blocks):
        rows = block.splitlines()[1:]
        assert [row[4:].split()[0] for row in rows if row] == [part.name for part in lenet.parts_of_worker(worker)]
    assert len(blocks) == 3


def test_bridges_are_marked_and_say_their_bytes(layerp: Graph) -> None:
    marks = {row.split()[1]: row.split()[0] for row in to_text(layerp).splitlines() if row.strip()[:1] in ("⇒", "⇐")}
    expected = {bridge.source.name: "⇒" for bridge in layerp.bridges()}
    assert marks == expected | {bridge.target.name: "⇐" for bridge in layerp.bridges()}
    assert "← s-split-mnist-conv1-01  ↓ 24.5 KiB" in to_text(layerp)
    assert "\n  all-to-all pool1  ↓ 21.1 KiB  ↑ 21.1 KiB  among workers 0, 1\n" in to_text(layerp)
