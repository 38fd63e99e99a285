"""DOT of folded drawings: a field per set of workers, a stripe per worker, bytes at arrows and in boxes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from netpart.draw.dot import to_dot
from netpart.draw.look import DrawingLook
from netpart.draw.palette import worker_colour
from netpart.draw.svg import to_svg
from netpart.graph.graph import Graph

FOLDED = DrawingLook(fold="blocks")
ALONE = DrawingLook(helpers=False)


def test_a_box_has_a_stripe_for_each_worker_at_both_sides(lenet: Graph) -> None:
    (box,) = re.findall(r'^ +"conv1" \[(.*)\]$', to_dot(lenet, look=FOLDED), flags=re.MULTILINE)
    fills = [part.split(";")[0] for part in re.findall(r'fillcolor="([^"]*)"', box)[0].split(":")]
    stripes = [worker_colour(worker).fill for worker in range(3)]
    assert fills == [*stripes, "#ffffff", *stripes]


def test_fields_are_sets_of_workers(lenet: Graph, stages: Graph) -> None:
    assert re.findall(r'label="(workers? [^"]*)"', to_dot(lenet, look=FOLDED)) == ["worker 0", "workers 0 to 2"]
    assert re.findall(r'label="(workers? [^"]*)"', to_dot(stages, look=FOLDED)) == ["worker 0", "worker 1"]
    assert 'label="worker 2"' in to_dot(lenet, look=ALONE)


def test_what_crosses_workers_is_at_arrows_or_inside_of_boxes(lenet: Graph) -> None:
    dot = to_dot(lenet, look=FOLDED)
    assert re.search(r'"pool2" -> "ip1" \[penwidth.*label="  all-gather', dot)
    assert '-> "conv1" [style=dashed' in dot
    assert re.search(r'"conv2" \[label="conv2\\nCConvolution\\nΣ gradients ↑ [\d.]+ KiB\\n', dot)


def test_the_svg_is_well_formed_and_has_every_box(lenet: Graph) -> None:
    root = ElementTree.fromstring(to_svg(lenet, look=DrawingLook(fold="blocks", rankdir="LR")))
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "name"}
    assert texts >= {"data", "conv1", "pool1", "conv2", "pool2", "ip1", "relu1", "drop1", "ip2", "loss"}
