"""A Picture says what the graph says, and its bytes are those of the bridges."""

from __future__ import annotations

import pytest

from netpart.draw.graph_picture import make_picture
from netpart.graph.graph import BRIDGE_DST, LAYER, Graph
from netpart.graph.net import Net
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.reader import read_job
from tests.house.tree import ROOT


def test_a_box_says_what_it_holds_and_does(layerp: Graph) -> None:
    box = make_picture(layerp).by_name
    assert (box["conv1-01"].type, box["conv1-01"].extent, box["conv1-01"].worker) == ("Convolution", "8×4×27×27", 1)
    assert box["conv1-01"].holds == "conv1[0:8, 4:8, 0:27, 0:27]"
    assert (box["data"].extent, box["data"].holds) == ("8 records", "data[...]")
    assert (box["slice-pool1-00"].type, box["slice-pool1-00"].shape) == ("Slice", (8, 4, 13, 13))
    assert box["s-split-mnist-conv1-01"].type == "to worker 1"
    assert box["d-split-mnist-conv1-01"].type == "from worker 0"


def test_an_addend_says_which_inputs_it_covers(lenet_cut_on_inputs: Graph) -> None:
    box = make_picture(lenet_cut_on_inputs).by_name
    assert box["ip2-01"].holds == "ip2[0:64, 0:10] over inputs [166:332]"
    assert box["slice-data.label"].holds == "data.label[0:64]"


def test_layers_and_helpers_are_told_apart(lenet: Graph) -> None:
    helpers = {box.name for box in make_picture(lenet).boxes if box.is_helper}
    assert helpers == {part.name for part in lenet.parts if part.kind != LAYER}


@pytest.mark.parametrize("itemsize", [4, 8])
def test_bytes_on_arrows_are_those_of_the_bridges(lenet: Graph, itemsize: int) -> None:
    shown = make_picture(lenet, itemsize)
    for bridge in lenet.bridges():
        (arrow,) = shown.arrows_into[bridge.target.name]
        size = bridge.elements * (4 if bridge.dtype == "int" else itemsize)
        assert (arrow.forward, arrow.backward) == (size, size if bridge.backward else 0)
    crossing = {arrow.target for arrow in shown.arrows if arrow.crosses}
    assert crossing == {part.name for part in lenet.parts if part.kind == BRIDGE_DST}


def test_traffic_adds_up_all_bridges(layerp: Graph) -> None:
    """Images to worker 1, two exchanges of 4x4x13x13 both ways, and 4 labels."""
    images = 8 * 28 * 28
    halves = 2 * 4 * 4 * 13 * 13
    labels = 4
    shown = make_picture(layerp)
    assert sum(a.forward for a in shown.arrows) == 4 * (images + halves + labels)
    assert sum(a.backward for a in shown.arrows) == 4 * halves
    assert shown.reduced_bytes == 2 * 4 * (10 * 8 * 13 * 13 + 10)  # fc1's weights and biases, there and back
    sums = "Σ gradients of parameters ↑ 105.7 KiB per step"
    assert shown.traffic == f"1 collective and 2 bridges, ↓ 45.6 KiB  ↑ 21.1 KiB per step; {sums}"
    assert shown.title == "conv-mnist-layerp, train: 27 parts on 2 workers"


def test_an_arrow_without_a_label_stays_on_its_worker(layerp: Graph) -> None:
    shown = make_picture(layerp)
    assert {arrow.label for arrow in shown.arrows if not arrow.crosses} == {""}
    assert {a.label for a in shown.arrows if a.crosses and a.frame < 0} == {"↓ 24.5 KiB", "↓ 16 B"}
    assert {a.label for a in shown.arrows if a.frame >= 0} == {"↓ 10.6 KiB  ↑ 10.6 KiB"}


def test_an_uncut_net_is_one_worker_without_helpers(net: Net) -> None:
    shown = make_picture(net)
    assert [box.name for box in shown.boxes] == ["data", "mnist", "label", "conv1", "relu1", "pool1", "fc1", "loss"]
    assert (shown.traffic, list(shown.fields), shown.rows) == ("", [0], [])
    assert shown.legend == ("no gradient",)


def test_rows_are_the_shards_of_one_layer(layerp: Graph) -> None:
    rows = make_picture(layerp).rows
    assert rows == [[f"{layer}-00", f"{layer}-01"] for layer in ("conv1", "relu1", "pool1", "fc1", "loss")]


def test_replicas_that_add_up_their_gradients_say_so(naive: Graph) -> None:
    """Four layers between products, each of 8x4 floats that two copies all-reduce: Algorithm 2 of the seed."""
    shown = make_picture(naive)
    assert shown.traffic == "5 collectives, ↓ 640 B per step; Σ gradients of outputs ↑ 1.0 KiB per step"
    assert shown.reduced_bytes == 4 * (2 * 8 * 4 * 4)
    wanted = [(f"all-reduce of the gradient of tanh{n}", (0, 1), 256) for n in (1, 2, 3, 4)]
    assert [(each.name, each.members, each.nbytes) for each in shown.reductions] == wanted
    assert list(shown.reduction_by_box) == [f"tanh{n}-0{worker}" for n in (1, 2, 3, 4) for worker in (0, 1)]


def test_sums_of_parameters_name_them_and_move_what_the_ledger_says(lenet: Graph) -> None:
    shown = make_picture(lenet)
    assert {cell.split("[")[0] for each in shown.reductions for cell in each.parameters} == {
        "conv1/w1", "conv1/b1", "conv2/w2", "conv2/b2", "ip2/w4", "ip2/b4",
    }  # fmt: skip
    moved = sum(a.forward + a.backward for a in shown.arrows) + shown.reduced_bytes
    conf = read_job(ROOT / "graphs" / "mnist" / "conv.conf")
    assert moved == compute_ledger(partition_by_scheme(conf.proto, 3, conf.folder)).total


def test_of_a_step_in_micro_batches_one_is_drawn() -> None:
    conf = read_job(ROOT / "graphs" / "schemes" / "five-layers.conf", ["neuralnet.micro_batches=2"])
    shown = make_picture(partition_by_scheme(conf.proto, 2, conf.folder, "PIPELINE").graph)
    assert shown.title.startswith("five-layers, train, one of 2 micro-batches: ")
    assert shown.traffic.endswith(" per micro-batch")


@pytest.mark.parametrize("workers", [2, 3])
def test_a_collective_frames_its_helpers_and_counts_what_is_sent(workers: int) -> None:
    """Two pairs of products of 8x4 floats: each pair is an all-reduce forward, the upper one also backward."""
    conf = read_job(ROOT / "graphs" / "schemes" / "five-layers.conf")
    cut = partition_by_scheme(conf.proto, workers, conf.folder, "COLUMN_ROW")
    shown = make_picture(cut.graph)
    moved = 2 * (workers - 1) * 8 * 4 * 4
    assert [f.name for f in shown.frames] == ["all-reduce fc2", "all-reduce fc4"]
    assert [(f.forward, f.backward) for f in shown.frames] == [(moved, moved), (moved, 0)]
    assert shown.frames[0].members == tuple(range(workers))
    inside = [box for box in shown.boxes if box.frame == 0]
    assert len(inside) == workers * (2 * (workers - 1) + 1)
    assert {box.type.split()[0] for box in inside} == {"to", "from", "Sum"}
    ways = [arrow for arrow in shown.arrows if arrow.frame == 0]
    assert len(ways) == workers * (workers - 1)
    assert sum(way.forward for way in ways) == sum(way.backward for way in ways) == moved
    assert max(way.forward for way in ways) - min(way.forward for way in ways) <= 1
    assert 3 * moved == compute_ledger(cut).total
