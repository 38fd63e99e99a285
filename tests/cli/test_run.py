"""netpart run: what its first line says of a run."""

from __future__ import annotations

import pytest

from netpart.cli.run import line
from netpart.launch.events import Started


@pytest.mark.parametrize(
    ("transport", "words"), [("shm", "shared memory"), ("zeromq", "ZeroMQ"), ("memory", "this process's memory")]
)
def test_the_first_line_tells_what_tensors_go_through(transport: str, words: str) -> None:
    started = Started("net", 2, 10, 0, 32, ("cpu", "cpu"), (1024, 2048), transport, "reference kernels", (1, 1))
    expected = "net: 2 workers on cpu, reference kernels, 1 + 1 threads; batch 32, 10 steps; memory 1.0 KiB + 2.0 KiB; "
    assert line(started) == f"{expected}tensors through {words}"
