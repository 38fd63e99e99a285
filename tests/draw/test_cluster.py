"""Drawings of clusters: everybody is there, and the arrows say who talks to whom."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from netpart.draw.cluster import cluster_svg, groups_svg
from netpart.graph.partition import partition_job
from netpart.graph.server_pieces import add_job_servers
from netpart.proto.cluster import Cluster
from netpart.proto.reader import read_job_text
from tests.worker.jobs import LENET

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("cluster", "arrows", "said"),
    [
        (Cluster(1, 2, 1, 1, 4), 4, "each group at its own pace, at most 4 steps ahead"),
        (Cluster(3, 2, 2, 1, None, True), 8, "each group in its turn"),
        (Cluster(2, 1, 2), 4, "in every step: nothing is stale"),
        (Cluster(1, 3, 0, 4, 2), 3, "every 4 steps of each, brought in 2 steps later"),
        (Cluster(1, 3, 0, 1, 0), 3, "every step, waited for"),
        (Cluster(2), 0, ""),
    ],
)
def test_everybody_is_drawn(cluster: Cluster, arrows: int, said: str) -> None:
    root = ElementTree.fromstring(cluster_svg(cluster, "a < b", "moves 1 KiB"))
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert {"a < b", "moves 1 KiB"} <= set(texts)
    assert len(list(root.iter(f"{SVG}circle"))) == cluster.groups * cluster.workers
    assert [t for t in texts if t.startswith("server ")] == [f"server {s}" for s in range(cluster.servers)]
    assert len([path for path in root.iter(f"{SVG}path") if path.get("class") == "arrow"]) == arrows
    assert any(said in text for text in texts)


def test_a_partition_says_what_its_groups_move() -> None:
    cut = add_job_servers(partition_job(read_job_text(LENET, overrides=["cluster.nworker_groups=2"]).proto, 1))
    assert "in each of its steps a group pushes" in groups_svg(cut)
    alone = partition_job(read_job_text(LENET).proto, 2)
    assert "no traffic between groups" in groups_svg(alone)
