"""How many additions stand behind a tensor, counted by hand."""

from __future__ import annotations

from math import inf

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.uncut import partition_uncut
from netpart.layers.layer import INPUT
from netpart.verify.terms import TermCounts, sum_terms
from tests.graph.jobs import data, job, layer, product

ROWS = 6
FEATURES = 5
HIDDEN = 4
CLASSES = 3
WHOLE = "partition_dim: -1 location: 0"
ROWWISE = "partition_dim: 0"
NEURONS = "partition_dim: 1"


def counted(first: str, second: str = WHOLE, steps: dict[str, float] | None = None) -> tuple[TermCounts, Partition]:
    """The terms of two products, cut as they say, and a whole loss."""
    layers = product("fc1", "data", HIDDEN, first), product("fc2", "fc1", CLASSES, second)
    conf = job(
        data(ROWS, f"shape: {FEATURES}", CLASSES), *layers, layer("loss", "kSoftmaxLoss", "fc2", "data", more=WHOLE)
    )
    cut = partition_job(conf, 2)
    terms, net = TermCounts(cut), partition_uncut(conf).graph.net
    terms.forward(net)
    terms.backward(net)
    terms.update(dict.fromkeys(terms.parameters, 1.0) if steps is None else steps)
    return terms, cut


def test_a_net_in_one_piece_has_none() -> None:
    terms, _ = counted(WHOLE)
    for counts in (terms.outputs, terms.gradients, terms.parameter_gradients, terms.parameters):
        assert set(counts.values()) == {0}


@pytest.mark.parametrize("how", [ROWWISE, NEURONS, f"cut {{ over: {INPUT} parts: 2 }}"])
def test_a_cut_layer_adds_what_its_elements_are_computed_from(how: str) -> None:
    terms, _ = counted(how)
    behind = FEATURES + 1
    assert terms.outputs == {"data": 0, "fc1": behind, "fc2": behind, "loss": behind}
    assert terms.gradients == {"data": 0, "fc1": 2 * behind, "fc2": behind, "loss": 0}
    assert terms.parameter_gradients["fc1/weight"] == 1 + ROWS + 2 * behind
    assert terms.parameter_gradients["fc2/weight"] == 2 * behind


def test_terms_add_up_along_the_path() -> None:
    terms, _ = counted(NEURONS, NEURONS)
    top = FEATURES + 1 + HIDDEN + 1
    assert terms.outputs == {"data": 0, "fc1": FEATURES + 1, "fc2": top, "loss": top}
    assert terms.gradients["fc1"] == 1 + CLASSES + top + top


def test_a_replica_rounds_as_the_whole_does() -> None:
    terms, cut = counted("cut { over: REPLICA parts: 2 }")
    assert len(cut.graph.placements[1].shards) == 2
    assert terms.outputs["fc1"] == 0


def test_a_parameter_counts_as_far_as_it_was_moved() -> None:
    names = ["fc1/weight", "fc1/bias", "fc2/weight", "fc2/bias"]
    terms, _ = counted(NEURONS, steps=dict.fromkeys(names, 0.1))
    assert terms.parameters["fc1/weight"] == 2  # a tenth of 19 + 1
    assert terms.parameters["fc2/bias"] >= 1
    before = dict(terms.parameters)
    terms.update(dict.fromkeys(names, 0.0))
    assert terms.parameters == {name: n + 1 for name, n in before.items()}
    terms.update(dict.fromkeys(names, inf))
    assert terms.parameters == {name: n + 2 for name, n in before.items()}


def test_what_several_readers_return_is_added_once_more_for_each() -> None:
    assert [sum_terms(counts) for counts in ([], [7], [7, 3], [1, 9, 2])] == [0, 7, 8, 11]
