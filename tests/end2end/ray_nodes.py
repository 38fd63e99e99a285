"""A Ray cluster of nodes that share this host, in a process of its own that answers a JSON line with a JSON line.

python -m tests.end2end.ray_nodes CPUS NODES
    {"do": "restore", "count": 3}  {"do": "remove", "node": 1}  {"do": "hold", "cpus": 4}  {"do": "free"}

Node 0 is the head, with the given number of CPUs too. All nodes have one address.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

STORE = 80 << 20
"""Bytes of each node's object store, the least that Ray takes."""
MEMORY = 1 << 30


class Nodes:
    """The cluster, and what is held in it."""

    def __init__(self, cpus: int, count: int) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster()
        self.cpus = cpus
        self.nodes = list[Any]()
        self.group: Any = None
        for _ in range(count):
            self.add()

    def add(self) -> dict[str, Any]:
        head = {"include_dashboard": False} if not self.nodes else {}
        self.nodes.append(self.cluster.add_node(num_cpus=self.cpus, object_store_memory=STORE, memory=MEMORY, **head))
        return {"address": self.cluster.address, "node": self.nodes[-1].node_id}

    def restore(self, count: int) -> dict[str, Any]:
        """Add nodes until there are ``count``."""
        while len(self.nodes) < count:
            self.add()
        return {"nodes": [node.node_id for node in self.nodes]}

    def remove(self, node: int) -> dict[str, Any]:
        """The node dies as by a loss of power."""
        gone = self.nodes.pop(node)
        self.cluster.remove_node(gone, allow_graceful=False)
        return {"node": gone.node_id}

    def hold(self, cpus: int) -> dict[str, Any]:
        """Another job takes CPUs; 0 gives them back."""
        import ray
        from ray.util import placement_group, remove_placement_group

        if not ray.is_initialized():
            ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        if self.group is not None:
            remove_placement_group(self.group)
        self.group = placement_group([{"CPU": 1.0}] * cpus) if cpus else None
        return {"held": self.group is None or self.group.wait(30)}

    def free(self) -> dict[str, Any]:
        """What no job uses."""
        import ray

        if not ray.is_initialized():
            ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        return {"cpus": ray.available_resources().get("CPU", 0)}


def answer(said: dict[str, Any], out: int) -> None:
    os.write(out, json.dumps(said).encode() + b"\n")


def main() -> None:
    cpus, count = map(int, sys.argv[1:])
    out = os.dup(1)
    os.dup2(2, 1)  # Ray prints to stdout what happens to nodes
    nodes = Nodes(cpus, count)
    try:
        answer({"address": nodes.cluster.address, "nodes": [node.node_id for node in nodes.nodes]}, out)
        for line in sys.stdin:
            asked = json.loads(line)
            answer(getattr(nodes, asked.pop("do"))(**asked), out)
    finally:
        import ray

        ray.shutdown()
        nodes.cluster.shutdown()


if __name__ == "__main__":
    main()
