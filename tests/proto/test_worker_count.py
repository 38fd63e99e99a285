"""How many workers a job asks for."""

from __future__ import annotations

import pytest

from netpart.proto.reader import read_job_text
from netpart.proto.worker_count import default_workers


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ("", 1),
        ("cluster { }", 1),
        ("cluster { nworkers_per_group: 3 }", 3),
        ('neuralnet { layer { name: "a" location: [1, 4] } layer { name: "b" location: 2 } }', 5),
        ('neuralnet { layer { name: "a" cut { axis: 0 location: [0, 3] } } }', 4),
        ('cluster { nworkers_per_group: 2 } neuralnet { layer { name: "a" location: 4 } }', 2),
    ],
)
def test_the_cluster_counts_then_the_locations(text: str, workers: int) -> None:
    assert default_workers(read_job_text(text).proto) == workers
