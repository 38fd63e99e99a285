"""Waiting: why a player cannot go on, and marks on what its GPU has been told, where that may wait for others.

A host never asks such a GPU to tell it when it is done: nobody could reach the host any more if another GPU never came.
It looks at the marks, and listens meanwhile.
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
"""How often a host looks at a mark."""


class WaitReason(NamedTuple):
    """Why a player cannot go on: what it waits for, from whom, on which channel; after ``look`` seconds it may go on
    although nothing has arrived."""

    name: str
    peer: int
    phase: str
    step: int
    channel: Channel
    look: float = inf

    def __str__(self) -> str:
        return f"{self.name} (edge {self.channel.edge}) from worker {self.peer} in {self.phase} step {self.step}"


class StreamMarks:
    """Marks of ``rank`` on the current stream of ``xp``, cupy; ``joint`` is one of the collectives that GPUs carry out
    among themselves. Without any there are no marks, and no waits."""

    def __init__(self, xp: Any, rank: int, joint: RunningCollective | None, clock: Clock) -> None:
        self.xp = xp
        self.rank = rank
        self.joint = joint
        self.clock = clock
        self.made: deque[Any] = deque()

    def make(self) -> None:
        """Marks what has been enqueued so far."""
        if self.joint is not None:
            event = self.xp.cuda.Event(disable_timing=True)
            self.made.append(self.xp.cuda.get_current_stream().record(event))

    def wait(self, phase: str, most: int = 0) -> Iterator[WaitReason]:
        """Waits until the device has come to all marks but the latest ``most``."""
        while len(self.made) > most:
            while not self.made[0].done:
                yield self.waiting(phase)
            self.made.popleft()

    def waiting(self, phase: str) -> WaitReason:
        """For the other members of a collective; nobody says which of them."""
        assert self.joint is not None
        other = next(rank for rank in self.joint.members if rank != self.rank)
        channel = next(iter(self.joint.channels.values()))
        return WaitReason("collectives of NCCL", other, phase, self.clock.step, channel, LOOK_SECONDS)
