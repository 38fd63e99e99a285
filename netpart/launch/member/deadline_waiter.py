"""DeadlineWaiter: how long a worker waits for messages of the other workers."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from netpart.errors import TransportError, WorkerFailed
from netpart.launch.member.control_client import ControlClient
from netpart.program.instructions import Way
from netpart.proto.cluster import Cluster
from netpart.units import plural_text
from netpart.worker.wait_reasons import WaitReason

if TYPE_CHECKING:
    from netpart.transport.transport import Transport

LOOK_UP_SECONDS = 0.5
"""How often a waiting worker checks whether it should stop."""
ELASTIC_LOOK_UP_SECONDS = 0.05
"""The same in an elastic run, which goes on once all have stopped."""
BETWEEN_GROUPS = (Way.PUSH, Way.PULL, Way.AVERAGE)
"""Messages without a deadline here. A group may wait long for another one that tests or is slow. The coordinator ends
the run if no worker makes progress."""


class Overdue(WorkerFailed):
    """A message, of worker ``peer`` if it is known of which, did not arrive by the deadline."""

    def __init__(self, message: str, peer: int | None = None) -> None:
        super().__init__(message)
        self.peer = peer


class LinkLost(TransportError):
    """The link to ``peer`` does not open, or has closed after it had ``opened``."""

    def __init__(self, message: str, peer: int, opened: bool) -> None:
        super().__init__(message)
        self.peer = peer
        self.opened = opened


class DeadlineWaiter:
    """Wait at most ``deadline`` seconds for the same message, and check meanwhile for messages of the coordinator and
    for links that are lost."""

    def __init__(
        self, transport: Transport, control: ControlClient, cluster: Cluster, deadline: float,
        look_up: float = LOOK_UP_SECONDS,
    ) -> None:  # fmt: skip
        self.transport = transport
        self.control = control
        self.cluster = cluster
        self.deadline = deadline
        self.look_up = look_up
        self.last: WaitReason | None = None
        self.waited = 0.0

    def wait(self, waiting: WaitReason, step: int) -> None:
        """Block until something arrives.

        Time during which this process itself was suspended does not count. Raises Overdue, and LinkLost.
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
                f"{waiting.phase} step {step}{self._refused_text(waiting.peer)}; check what worker {waiting.peer} "
                "does, or raise the deadline with --set deadline=SECONDS",
                waiting.peer,
            )
        began = monotonic()
        if not self.transport.wait(min(self.look_up, left, waiting.look)):
            self.control.check()
            if (link := self.transport.lost_link()) is not None:
                raise LinkLost(f"rank {self.transport.rank}: {link.text}", link.peer, link.opened)
        # One wait lasts about ``look_up`` seconds. If the clock moved much further, this process was suspended, which
        # is not the peer's fault; so at most twice that time counts.
        self.waited += min(monotonic() - began, 2 * self.look_up)

    def _refused_text(self, peer: int) -> str:
        """The frames of ``peer`` that were dropped, one of which may be the one that is missed; "" if none was."""
        refused = self.transport.refused.get(peer)
        if refused is None:
            return ""
        return f"; {plural_text(refused.count, 'frame')} in its name were dropped: {refused.reason}"
