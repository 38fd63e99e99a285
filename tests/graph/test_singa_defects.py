"""SINGA 0.3's defects around partitioning, by the numbers of a survey of its source: none of them is here."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.graph.graph import LAYER, SPLIT
from netpart.graph.partition import partition_job
from netpart.spec import whole_region
from tests.graph.jobs import cut_and_uncut, data, job, layer, played, product
from tests.laws.turns import Groups

LOSS = layer("loss", "kSoftmaxLoss", "top", "data", more="partition_dim: 0")
COLUMNS = "partition_dim: 1"


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_b1_slices_reach_the_reader_whose_rows_they_are(workers: int) -> None:
    conf = job(data(), product("wide", "data", 8, COLUMNS), product("top", "wide", 4, "partition_dim: 0"), LOSS)
    cut, uncut = cut_and_uncut(conf, workers)
    assert np.allclose(cut.activation("train", "top"), uncut.activation("train", "top"), rtol=1e-13)


def test_b2_a_layer_cut_on_neurons_learns_at_the_rate_of_any_other() -> None:
    conf = job(data(), product("top", "data", 4, COLUMNS), LOSS)
    cut, uncut = cut_and_uncut(conf, 2)
    for name in ("top/weight", "top/bias"):
        assert np.allclose(cut.parameter(name), uncut.parameter(name), rtol=1e-13)


def test_b3_a_layer_cut_on_neurons_may_read_the_input() -> None:
    partition = partition_job(job(data(), product("top", "data", 4, COLUMNS), LOSS), 2)
    from_data = [b for b in partition.graph.bridges() if partition.graph.net.nodes[b.source.node].name == "data"]
    assert len(from_data) == 2  # rows to the layer, labels to the loss
    assert not any(bridge.backward for bridge in from_data)
    played(partition)


def test_b4_share_from_takes_the_name_that_the_conf_gives() -> None:
    plain = "innerproduct_conf { num_output: 4 bias_term: false }"
    below = layer("below", "kInnerProduct", "data", more=f'{plain} param {{ name: "w1" init {{ type: kGaussian }} }}')
    top = layer("top", "kInnerProduct", "below", more=f'{plain} param {{ share_from: "w1" }}')
    conf = job(data(), below, top, LOSS)
    assert [p.name for p in partition_job(conf, 2).parameters] == ["below/w1"]


def test_b5_two_readers_cut_on_neurons_share_what_serves_them() -> None:
    two = product("left", "below", 4, COLUMNS), product("right", "below", 4, COLUMNS)
    conf = job(data(), product("below", "data", 4, "location: 0"), *two, layer("top", "kAdd", "left", "right"), LOSS)
    graph = partition_job(conf, 2).graph
    assert [part.name for part in graph.parts if part.kind == SPLIT] == ["split-below"]
    assert len({part.name for part in graph.parts}) == len(graph.parts)


def test_b6_a_layer_cut_on_neurons_can_be_tested() -> None:
    inputs = data(more="partition_dim: -1 include: kTrain"), data(3, more="partition_dim: -1 include: kTest")
    conf = job(*inputs, product("top", "data", 4, COLUMNS), LOSS)
    conf.test_steps = 1
    cut, uncut = cut_and_uncut(conf, 2)
    assert cut.step("test", 0) == pytest.approx(uncut.step("test", 0), rel=1e-12)


def test_b7_every_element_of_a_cut_parameter_has_one_place_under_the_name_of_the_whole() -> None:
    partition = partition_job(job(data(), product("top", "data", 4, COLUMNS), LOSS), 2)
    held = [h for of_worker in partition.holdings for h in of_worker if h.parameter.name == "top/weight"]
    assert [h.box for h in held] == [((0, 2), (0, 4)), ((2, 4), (0, 4))]
    assert {h.parameter.spec.shape for h in held} == {(4, 4)}


def test_b8_no_row_and_no_class_is_dropped() -> None:
    conf = job(data(100, classes=10), product("top", "data", 10, COLUMNS), LOSS)
    graph = partition_job(conf, 3).graph
    regions = {name: [p.region for p in graph.parts if p.name.startswith(f"{name}-0")] for name in ("top", "loss")}
    assert [r[1] for r in regions["top"]] == [(0, 3), (3, 6), (6, 10)]
    assert [r[0] for r in regions["loss"]] == [(0, 33), (33, 66), (66, 100)]


def test_b9_a_net_can_be_tested_that_was_not_trained() -> None:
    conf = job(data(), product("top", "data", 4, COLUMNS), LOSS)
    conf.test_steps = 1
    cut, uncut = cut_and_uncut(conf, 2, "test")
    assert np.allclose(cut.activation("test", "loss"), uncut.activation("test", "loss"), rtol=1e-13)


@pytest.mark.parametrize("dim", [0, 1])
def test_b10_an_uncut_layer_stands_once_among_cut_ones(dim: int) -> None:
    below, top = product("below", "data", 4, f"partition_dim: {dim}"), product("top", "below", 4, "partition_dim: -1")
    conf = job(data(), below, top, LOSS)
    graph = partition_job(conf, 3).graph
    assert [(p.worker, p.region) for p in graph.parts if p.kind == LAYER and p.name.startswith("top")] == [
        (0, whole_region((6, 4)))
    ]
    cut, uncut = cut_and_uncut(conf, 3)
    assert np.allclose(cut.parameter("top/weight"), uncut.parameter("top/weight"), rtol=1e-13)


@pytest.mark.parametrize("order", range(4))
def test_b11_servers_serve_every_group_to_its_end(order: int) -> None:
    """Of 7 steps the first of 3 groups has 3, the others 2: each is updated, whoever ends first."""
    conf = job(data(), product("top", "data", 4), LOSS)
    conf.train_steps = 7
    conf.cluster.nworker_groups, conf.cluster.nservers_per_group = 3, 2
    groups = Groups(conf, 1, order)
    groups.run()
    for rank in groups.cluster.checkpoint_ranks:
        assert sorted(update.step for update in groups.applied[rank]) == list(range(7))


def test_b12_workers_read_different_rows_of_one_batch() -> None:
    conf = job(data(more="partition_dim: 0"), product("top", "data", 4, "partition_dim: 0"), LOSS)
    cut, uncut = cut_and_uncut(conf, 3)
    rows = uncut.activation("train", "data")
    assert len({row.tobytes() for row in rows}) == len(rows)
    assert np.array_equal(cut.activation("train", "data"), rows)
