"""Which layers are recomputed: what a layer says goes before what the net says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from netpart.graph.partition import partition_job
from netpart.graph.recomputed import clear_recomputation, layers_recomputed, recomputed_nodes
from netpart.graph.uncut import partition_uncut
from netpart.proto.job_pb2 import JobProto
from tests.graph.jobs import data, job, layer, product


def marked(net: bool, *says: bool | None) -> JobProto:
    """A chain of products that say so, or nothing, in a net that says ``net``."""
    names = ["data", *(f"fc{k}" for k in range(len(says)))]
    chain = [product(name, source, 4) for source, name in pairwise(names)]
    conf = job(data(rows=4, shape="shape: 4", classes=4), *chain, layer("loss", "kSoftmaxLoss", names[-1], "data"))
    conf.neuralnet.recompute = net
    for each, wanted in zip(conf.neuralnet.layer[1:], says, strict=False):
        if wanted is not None:
            each.recompute = wanted
    return conf


@pytest.mark.parametrize(
    ("net", "expected"), [(False, (False, False, True, False, False)), (True, (True, True, True, False, True))]
)
def test_a_layer_that_says_nothing_does_as_the_net(net: bool, expected: tuple[bool, ...]) -> None:
    conf = marked(net, None, True, False)
    assert layers_recomputed(conf.neuralnet) == expected
    cut = partition_job(conf, 1)
    assert recomputed_nodes(cut.graph.net, conf.neuralnet) == {n for n, again in enumerate(expected) if again}


def test_an_inserted_layer_does_as_the_one_it_is_inserted_for() -> None:
    """The moments of a batch norm that is cut on the rows."""
    norm = layer("norm", "kBM", "fc", more="recompute: true")
    top = layer("loss", "kSoftmaxLoss", "norm", "data")
    conf = job(data(rows=4, shape="shape: 4", classes=4), product("fc", "data", 4), norm, top)
    graph = partition_job(conf, 2).graph
    found = [graph.net.nodes[n] for n in sorted(recomputed_nodes(graph.net, conf.neuralnet))]
    assert [node.inserted for node in found] == [True, False]
    assert {node.at for node in found} == {graph.net.by_name["norm"].at}


def test_the_uncut_reference_recomputes_nothing() -> None:
    conf = marked(True, True, None)
    assert not any(layers_recomputed(partition_uncut(conf).job.neuralnet))
    assert any(layers_recomputed(conf.neuralnet))
    clear_recomputation(conf.neuralnet)
    assert not any(layers_recomputed(conf.neuralnet))
