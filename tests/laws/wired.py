"""Ensembles over real transports: every worker plays in a thread of its own, and messages take their time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

import pytest

from netpart.graph.partition import Partition
from netpart.transport.transport import Transport
from netpart.worker.ensemble import Ensemble
from netpart.worker.wait_reasons import WaitReason
from tests.laws.groups import DEADLINE, GROUPS, Group, release

WIRES = ("shm", "zeromq-ipc")
"""What processes of one host exchange tensors through: --transport shm and zeromq."""
SEALED = pytest.param(GROUPS["zeromq-sealed"], id="zeromq-sealed", marks=pytest.mark.thorough)
"""Between hosts."""
every_wire = pytest.mark.parametrize("wire", [*(pytest.param(GROUPS[name], id=name) for name in WIRES), SEALED])


class Wired(Ensemble):
    """Players in threads, whose messages go where ``transports`` take them."""

    def __init__(self, partition: Partition, transports: list[Transport], **options: Any) -> None:
        super().__init__(partition, hub=transports, **options)
        self.transports = transports

    def play_round(self, running: dict[int, Iterator[WaitReason]]) -> None:
        """Lets every worker go to its end."""
        with ThreadPoolExecutor(len(running)) as pool:
            for future in as_completed([pool.submit(self.play, *one) for one in running.items()]):
                if future.exception():
                    release(self.transports)
                future.result()
        running.clear()

    def play(self, worker: int, steps: Iterator[WaitReason]) -> None:
        for waiting in steps:
            assert self.transports[worker].wait(DEADLINE), f"worker {worker} waits for {waiting}"


@contextmanager
def wired(wire: Group, partition: Partition, **options: Any) -> Iterator[Ensemble]:
    """An ensemble of ``partition`` over a group of transports; ``options`` are those of an Ensemble."""
    made: list[Ensemble] = []
    with wire(partition.workers, lambda transports: made.append(Wired(partition, transports, **options))):
        yield made[0]
