"""CollectiveProgress alone: what it refuses, and that it runs again in place; schedules are played with it in
tests/collectives/test_schedules.py."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.collectives import (
    collective_schedule,
)
from netpart.collectives.kinds import (
    ALL_GATHER,
    ALL_REDUCE,
)
from netpart.errors import TransportError
from netpart.worker.collective_progress import CollectiveProgress

Blocks = list[np.ndarray | None]


def test_progress_refuses_what_it_does_not_expect() -> None:
    progress = CollectiveProgress(
        collective_schedule(ALL_GATHER, "ring", 2), 0, [2, 2], [np.ones(2), None], [np.ones(2), np.ones(2)]
    )
    with pytest.raises(TransportError, match="expected no message"):
        progress.deliver(np.ones(2))
    list(progress.start())
    with pytest.raises(TransportError, match="one plan on all workers"):
        progress.deliver(np.ones(3))
    with pytest.raises(RuntimeError, match="expected a complete run before start"):
        progress.start()


def test_progress_runs_again_and_again_in_place() -> None:
    values = [np.array([1.0, 2.0]), np.array([10.0, 20.0])]
    blocks: list[Blocks] = [[v[:1], v[1:]] for v in values]
    messages = collective_schedule(ALL_REDUCE, "ring", 2)
    members = [CollectiveProgress(messages, i, [1, 1], blocks[i], blocks[i]) for i in range(2)]
    for expected in ([11.0, 22.0], [22.0, 44.0]):
        posted = {i: a.copy() for m in members for _, i, a in m.start()}
        while not all(m.done for m in members):
            for m in members:
                if (wanted := m.expects()) and wanted[1] in posted:
                    posted.update({i: a.copy() for _, i, a in m.deliver(posted.pop(wanted[1]))})
        assert all(np.array_equal(v, expected) for v in values)
