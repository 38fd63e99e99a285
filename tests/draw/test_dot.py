"""DOT that Graphviz can read, says everything once, and never changes by itself."""

from __future__ import annotations

import re
from dataclasses import replace

from netpart.draw.dot import dot_lines, to_dot
from netpart.draw.graph_picture import make_picture
from netpart.graph.graph import Graph
from netpart.graph.net import Net
from netpart.plan.partition import partition_by_scheme
from netpart.units import bytes_text
from tests.draw.conftest import job_of


def cluster(dot: str, worker: int) -> str:
    """The lines between the braces of one worker's cluster."""
    return dot.split(f"subgraph cluster_worker_{worker} {{", 1)[1].split("\n  }", 1)[0]


def test_every_part_stands_in_the_cluster_of_its_worker(lenet: Graph) -> None:
    dot = to_dot(lenet)
    for worker in range(3):
        nodes = re.findall(r'^ {4,6}"([^"]+)" \[', cluster(dot, worker), flags=re.MULTILINE)
        nodes = [name for name in nodes if not name.startswith("collective ")]
        assert sorted(nodes) == sorted(part.name for part in lenet.parts_of_worker(worker))


def test_every_feed_is_an_arrow(lenet: Graph) -> None:
    arrows = re.findall(r'^  "([^"]+)" -> "([^"]+)"', to_dot(lenet), flags=re.MULTILINE)
    assert arrows == [(feed.part.name, part.name) for part in lenet.parts for feed in part.feeds]


def test_layers_are_boxes_and_helpers_ellipses(layerp: Graph) -> None:
    dot = to_dot(layerp)
    for box in make_picture(layerp).boxes:
        (line,) = (line for line in dot.splitlines() if line.strip().startswith(f'"{box.name}" ['))
        assert ("shape=ellipse" in line) == box.is_helper


def test_bridges_carry_their_bytes_and_other_arrows_do_not(layerp: Graph) -> None:
    dot = to_dot(layerp, itemsize=8)
    labelled = {line.split(" [")[0].strip() for line in dot.splitlines() if "↓" in line and "->" in line}
    bridges = {f'"{b.source.name}" -> "{b.target.name}"' for b in layerp.bridges() if not b.target.collective}
    assert {edge for edge in labelled if "legend" not in edge} == bridges


def test_a_collective_is_framed_on_each_worker_with_the_bytes_of_all(layerp: Graph) -> None:
    dot = to_dot(layerp, itemsize=8)
    assert dot.count("subgraph cluster_collective_") == 2
    assert dot.count('label="all-to-all\\npool1\\n↓ 42.2 KiB\\n↑ 42.2 KiB\\nin all"') == 2
    inside = dot.split("subgraph cluster_collective_1_0 {")[1].split("\n    }")[0]
    for name in ("s-slice-pool1-01-concate-fc1-00", "d-slice-pool1-00-concate-fc1-01", "concate-fc1-01"):
        assert f'"{name}" [' in inside


def test_what_carries_no_gradient_is_dashed(layerp: Graph) -> None:
    dashed = set(re.findall(r'^  "([^"]+)" -> "[^"]+" \[style=dashed', to_dot(layerp), flags=re.MULTILINE))
    assert dashed == {f.part.name for part in layerp.parts for f in part.feeds if not f.gradient}


def test_what_an_arrow_of_a_collective_brings_stands_where_it_ends(layerp: Graph) -> None:
    dot = to_dot(layerp, itemsize=8)
    (label,) = re.findall(r'"d-slice-pool1-00-concate-fc1-01" \[label="([^"]*)"', dot)
    assert label.endswith("\\nfrom worker 0\\n↓ 21.1 KiB\u00a0↑ 21.1 KiB\\n4×4×13×13")
    assert "bytes are" in dot  # in the legend


def test_a_replica_says_what_the_sum_of_its_gradient_moves(naive: Graph) -> None:
    dot = to_dot(naive)
    assert dot.count("\\nSTanh\\nΣ gradient ↑ 256 B in all\\n8×4") == 8
    assert "replicas add up" in dot


def test_a_part_says_what_the_sums_of_its_parameters_gradients_move() -> None:
    job = job_of("schemes/five-layers")
    graph = partition_by_scheme(job.proto, 3, job.folder, "data").graph
    shown = make_picture(graph)
    dot = to_dot(graph)
    of_layer = {box.layer: shown.parameter_sums[box.name] for box in shown.boxes if box.name in shown.parameter_sums}
    assert sum(of_layer.values()) == shown.reduced_bytes > 0
    for layer, nbytes in of_layer.items():
        assert len(re.findall(rf'"{layer}-0\d" \[label="[^"]*Σ gradients ↑ {bytes_text(nbytes)}\\n', dot)) == 3
    assert "replicas add up" in dot


def test_equal_nets_give_equal_text(net: Net, lenet: Graph) -> None:
    assert to_dot(net) == to_dot(net)
    assert "\n".join(dot_lines(make_picture(lenet))) + "\n" == to_dot(lenet)


def test_the_legend_explains_what_occurs(net: Net, lenet: Graph) -> None:
    assert "across workers" in to_dot(lenet)
    assert "across workers" not in to_dot(net)
    shown = make_picture(net)
    plain = replace(shown, arrows=tuple(replace(arrow, gradient=True) for arrow in shown.arrows))
    assert not any("legend" in line for line in dot_lines(plain))
