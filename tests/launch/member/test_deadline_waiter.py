"""What a worker says that has waited too long."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from netpart.launch.member.deadline_waiter import DeadlineWaiter, Overdue
from netpart.program.instructions import Channel, Way
from netpart.proto.cluster import Cluster
from netpart.transport.memory import MemoryHub
from netpart.transport.transport import RefusedFrames
from netpart.worker.wait_reasons import WaitReason

CHANNEL = Channel(1, Way.FORWARD, 0, 5, 0)


@pytest.mark.parametrize(
    ("refused", "says"),
    [
        ({}, "from worker 0 in train step 3; check what worker 0 does"),
        (
            {0: RefusedFrames(2, "no tag"), -1: RefusedFrames(9, "no frame")},
            "from worker 0 in train step 3; 2 frames in its name were dropped: no tag; check what worker 0 does",
        ),
    ],
    ids=["nothing", "frames"],
)  # fmt: skip
def test_frames_that_were_dropped_are_named(refused: dict[int, RefusedFrames], says: str) -> None:
    transport = MemoryHub(2)[1]
    transport.expect(CHANNEL, 0, (1,), np.float32)
    transport.refused = refused
    waiter = DeadlineWaiter(transport, cast(Any, None), Cluster(2), 0.0)
    with pytest.raises(Overdue, match=says):
        waiter.wait(WaitReason("ip1-00:ip2-01", 0, "train", 3, CHANNEL), 3)
