"""Wait reasons: why a player cannot continue; and marks in the work of a GPU that may wait for other GPUs.

The host never blocks on such a GPU: if another GPU never arrived, the host could not be stopped any more. It polls the
marks instead, and checks for messages meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from netpart.program.instructions import Channel

if TYPE_CHECKING:
    from netpart.kernels.op import Clock
    from netpart.worker.actions import RunningCollective

LOOK_SECONDS = 1e-4
"""How often a host polls a mark."""


class WaitReason(NamedTuple):
    """Why a player cannot continue: what it waits for, from which worker, on which channel.

    After ``look`` seconds it may continue although nothing has arrived.
    """

    name: str
    peer: int
    phase: str
    step: int
    channel: Channel
    look: float = inf

    def __str__(self) -> str:
        return f"{self.name} (edge {self.channel.edge}) from worker {self.peer} in {self.phase} step {self.step}"


class StreamMarks:
    """Marks of ``rank`` on the current stream of ``xp``, cupy.

    ``joint`` is one of the collectives that GPUs carry out among themselves. A run without such collectives has no
    marks and no waits.
    """

    def __init__(self, xp: Any, rank: int, joint: RunningCollective | None, clock: Clock) -> None:
        self.xp = xp
        self.rank = rank
        self.joint = joint
        self.clock = clock
        self.made: deque[Any] = deque()

    def make(self) -> None:
        """Mark the end of the work enqueued so far."""
        if self.joint is not None:
            event = self.xp.cuda.Event(disable_timing=True)
            self.made.append(self.xp.cuda.get_current_stream().record(event))

    def wait(self, phase: str, most: int = 0) -> Iterator[WaitReason]:
        """Wait until the device has reached all marks except the latest ``most``."""
        while len(self.made) > most:
            while not self.made[0].done:
                yield self.waiting(phase)
            self.made.popleft()

    def waiting(self, phase: str) -> WaitReason:
        """The wait for another member of the collective. It is not known which one is late, so any is named."""
        assert self.joint is not None
        other = next(rank for rank in self.joint.members if rank != self.rank)
        channel = next(iter(self.joint.channels.values()))
        return WaitReason("collectives of NCCL", other, phase, self.clock.step, channel, LOOK_SECONDS)
