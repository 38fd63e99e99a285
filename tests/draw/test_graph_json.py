"""The JSON of a graph has the form of the golden files."""

from __future__ import annotations

import json

import pytest

from netpart.draw.graph_json import to_json
from netpart.graph.graph import Graph
from netpart.graph.net import Net
from tests.house.tree import ROOT


def test_nodes_and_edges_in_order(net: Net) -> None:
    graph = json.loads(to_json(net))
    assert list(graph) == ["about", "nodes", "edges"]
    assert graph["about"] == "conv-mnist, train: 8 parts on 1 worker"
    assert graph["nodes"][0] == {"name": "data", "shape": [], "worker": 0}
    assert graph["nodes"][3] == {"name": "conv1", "shape": [8, 8, 27, 27], "worker": 0}
    assert ["label", "loss"] in graph["edges"]


def test_a_slice_has_the_shape_of_what_it_cuts(layerp: Graph) -> None:
    shapes = {node["name"]: node["shape"] for node in json.loads(to_json(layerp))["nodes"]}
    assert shapes["slice-pool1-00"] == shapes["pool1-00"] == [8, 4, 13, 13]


def test_one_line_per_node_edge_and_way(lenet: Graph) -> None:
    edges, bridges = sum(len(part.feeds) for part in lenet.parts), sum(1 for _ in lenet.bridges())
    lists = 5
    assert list(json.loads(to_json(lenet)))[1:] == ["nodes", "edges", "bridges", "collectives", "reductions"]
    rows = len(lenet.parts) + edges + bridges + len(lenet.collectives) + len(lenet.buckets)
    assert len(to_json(lenet).splitlines()) == rows + 3 + 2 * lists


def test_a_collective_names_its_parts(layerp: Graph) -> None:
    (found,) = json.loads(to_json(layerp))["collectives"]
    halves = 2 * 4 * 4 * 13 * 13 * 4
    assert (found["name"], found["members"]) == ("all-to-all pool1", [0, 1])
    assert (found["forward"], found["backward"]) == (halves, halves)
    assert "concate-fc1-00" in found["parts"]
    assert len(found["parts"]) == 6


def test_every_way_between_workers_has_its_bytes(layerp: Graph) -> None:
    ways = {way["from"]: way for way in json.loads(to_json(layerp, itemsize=8))["bridges"]}
    assert ways["s-split-mnist-conv1-01"] == {
        "from": "s-split-mnist-conv1-01", "to": "d-split-mnist-conv1-01", "forward": 8 * 28 * 28 * 8, "backward": 0,
    }  # fmt: skip
    inside = ways["s-slice-pool1-00-concate-fc1-01"]
    assert inside["forward"] == inside["backward"] == 4 * 4 * 13 * 13 * 8


def test_the_all_reduces_of_algorithm_2_are_there(naive: Graph) -> None:
    """Naive model parallelism all-reduces gradients on its way backward, after each all-gather but the last."""
    found = json.loads(to_json(naive))["reductions"]
    assert found[0] == {
        "name": "all-reduce of the gradient of tanh1", "members": [0, 1], "backward": 2 * 8 * 4 * 4,
        "parts": ["tanh1-00", "tanh1-01"],
    }  # fmt: skip
    assert [each["parts"][0] for each in found] == ["tanh1-00", "tanh2-00", "tanh3-00", "tanh4-00"]


def test_sums_of_gradients_of_parameters_are_there(layerp: Graph) -> None:
    (found,) = json.loads(to_json(layerp))["reductions"]
    assert found["parameters"] == ["fc1/w2[0:10, 0:8, 0:13, 0:13]", "fc1/b2[0:10]"]
    assert found["backward"] == 2 * 4 * (10 * 8 * 13 * 13 + 10)


@pytest.mark.parametrize("example", ["net", "layerp", "naive"])
def test_the_page_describes_every_key(example: str, request: pytest.FixtureRequest) -> None:
    page = (ROOT / "docs" / "drawings.md").read_text(encoding="utf-8")
    graph = json.loads(to_json(request.getfixturevalue(example)))
    keys = {*graph, *(key for rows in graph.values() for row in rows if isinstance(row, dict) for key in row)}
    assert [key for key in sorted(keys) if f'"{key}"' not in page] == []
