"""The JSON of a graph has the form of the golden files."""

from __future__ import annotations

import json

from netpart.draw.graph_json import to_json
from netpart.graph.graph import Graph
from netpart.graph.net import Net


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


def test_one_line_per_node_and_edge(lenet: Graph) -> None:
    edges = sum(len(part.feeds) for part in lenet.parts)
    assert len(to_json(lenet).splitlines()) == len(lenet.parts) + edges + 7 + 2 + len(lenet.collectives)


def test_a_collective_names_its_parts(layerp: Graph) -> None:
    (found,) = json.loads(to_json(layerp))["collectives"]
    halves = 2 * 4 * 4 * 13 * 13 * 4
    assert (found["name"], found["members"]) == ("all-to-all pool1", [0, 1])
    assert (found["forward"], found["backward"]) == (halves, halves)
    assert "concate-fc1-00" in found["parts"]
    assert len(found["parts"]) == 6
