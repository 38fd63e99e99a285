"""Patience: how long a worker waits for what the others send."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from netpart.errors import WorkerFailed
from netpart.launch.member.control_client import ControlClient
from netpart.program.instructions import Way
from netpart.proto.cluster import Cluster
from netpart.worker.wait_reasons import WaitReason

if TYPE_CHECKING:
    from netpart.transport.transport import Transport

LOOK_UP_SECONDS = 0.5
"""How often a waiting worker looks whether it should stop."""
BETWEEN_GROUPS = (Way.PUSH, Way.PULL, Way.AVERAGE)
"""A group may wait long for another, which tests or is slow: as long as anybody gets on, which the coordinator sees."""


class Overdue(WorkerFailed):
    """A message that did not come by the deadline."""


class DeadlineWaiter:
    """Waits at most ``deadline`` seconds for the same thing, and listens to the coordinator meanwhile."""

    def __init__(self, transport: Transport, control: ControlClient, cluster: Cluster, deadline: float) -> None:
        self.transport = transport
        self.control = control
        self.cluster = cluster
        self.deadline = deadline
        self.last: WaitReason | None = None
        self.waited = 0.0

    def wait(self, waiting: WaitReason, step: int) -> None:
        """Blocks until something arrives. Time during which this process itself stood still is not held against it.

        Raises Overdue.
        """
        if waiting != self.last:
            self.waited = 0.0
            self.last = waiting
        left = self.deadline - self.waited
        if waiting.channel.way in BETWEEN_GROUPS:
            left = LOOK_UP_SECONDS
        if left <= 0:
            peer = self.cluster.name(waiting.peer)
            raise Overdue(
                f"waited {self.waited:.1f} s for {waiting.name} (edge {waiting.channel.edge}) from {peer} in "
                f"{waiting.phase} step {step}; look at what worker {waiting.peer} does, or raise the "
                "deadline with --set deadline=SECONDS"
            )
        began = monotonic()
        if not self.transport.wait(min(LOOK_UP_SECONDS, left, waiting.look)):
            self.control.check()
        self.waited += min(monotonic() - began, 2 * LOOK_UP_SECONDS)
