"""ClusterPlacement: what a worker reserves, and why workers fit nowhere."""

from __future__ import annotations

import pytest

from netpart.launch.control.placement import misfit_text, worker_bundle

NODES = {"node a": {"CPU": 4.0, "memory": 2.0**30}, "node b": {"CPU": 2.0, "memory": 2.0**30, "GPU": 1.0}}
FREE = {"CPU": 1.0, "memory": 2.0**30}
HAS = (
    "the cluster has 2 nodes (node a: 4 CPU, memory 1.0 GiB; node b: 2 CPU, 1 GPU, memory 1.0 GiB), of which"
    " 1 CPU, memory 1.0 GiB are free in all"
)


def test_a_bundle_has_threads_memory_and_a_gpu_if_asked() -> None:
    assert worker_bundle(3, False, 4096) == {"CPU": 3, "memory": 4096}
    assert worker_bundle(0, True, 0) == {"CPU": 1, "GPU": 1, "memory": 1}


@pytest.mark.parametrize(
    ("threads", "gpus", "place", "why"),
    [
        ([1, 8], 0, "pack", "worker 1 needs 8 CPU, memory 1.0 KiB, which no node has"),
        ([3], 1, "pack", "worker 0 needs 3 CPU, 1 GPU, memory 1.0 KiB, which no node has"),
        ([1, 1, 1], 0, "strict-spread", "3 workers need a node each (--place strict-spread)"),
        ([3, 3], 0, "pack", "worker 1 needs 3 CPU, memory 1.0 KiB, which no node has left after worker 0"),
        (
            [2, 2, 2, 2],
            0,
            "spread",
            "worker 3 needs 2 CPU, memory 1.0 KiB, which no node has left after workers 0 to 2",
        ),
        ([3, 3], 0, "strict-spread", "worker 1 needs 3 CPU, memory 1.0 KiB, which no node has left after worker 0"),
        ([2, 2], 0, "pack", "other jobs use what the workers need, 4 CPU, memory 2.0 KiB in all"),
    ],
)
def test_the_reason_names_the_first_that_does_not_fit(threads: list[int], gpus: int, place: str, why: str) -> None:
    bundles = [worker_bundle(count, bool(gpus), 1024) for count in threads]
    assert misfit_text(bundles, NODES, place, FREE) == f"{why}; {HAS}"


def test_no_node_at_all() -> None:
    assert "worker 0 needs 1 CPU" in misfit_text([worker_bundle(1, False, 1)], {}, "pack", {})
