"""Actions: what a Program becomes when it is bound. A player goes through them, step after step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array, Clock, Op
from netpart.program.instructions import Channel
from netpart.program.program import Program
from netpart.worker.collective_player import CollectiveProgress
from netpart.worker.memory_access import Spans

if TYPE_CHECKING:
    from netpart.worker.gpu.nccl_collectives import NcclCall

RUN, SEND, RECEIVE, START, WAIT = range(5)


@dataclass(slots=True)
class RunningCollective:
    """A collective of one worker: its progress, the channel of its messages, which differ in their chunk, the ranks of
    its members, and what is done as soon as it is complete (``then_replayed``: when nobody traces).

    Of one that is a ``call``, the bytes of its messages count by their channels as ``counted``, and none is sent.
    ``number`` is that of its messages, since it was started; ``delay`` that of its mini-batch then.
    """

    name: str
    progress: CollectiveProgress
    channels: dict[int, Channel]
    members: tuple[int, ...]
    then: list[Action] = field(default_factory=list)
    then_replayed: list[Action] = field(default_factory=list)
    number: int = 0
    delay: int = 0
    call: NcclCall | None = None
    counted: list[tuple[Channel, int]] = field(default_factory=list)


@dataclass(slots=True)
class Action:
    """One bound instruction: what ``kind`` of thing it is and what to call. ``name`` is for people; a graph may repeat
    what is ``captured``. ``accesses`` is the memory of a GPU that it reads and writes, None if that is not known; of
    ``scratch`` bytes it has those of its ``lane``. ``take`` brings what is received into ``array``. ``micro`` is the
    micro-batch that it computes, -1 where a step has but one."""

    kind: int
    name: str
    run: Callable[[], None] | None = None
    array: Array = None
    take: Callable[[Array], None] | None = None
    peer: int = -1
    channel: Channel | None = None
    running: RunningCollective | None = None
    captured: bool = True
    accesses: Spans | None = None
    scratch: int = 0
    lane: int = 0
    micro: int = -1


Turn = list[tuple[int, Action]]
"""The actions of a step, each behind its delay."""


@dataclass
class BoundProgram:
    """A Program ready to be played. ``metrics`` are the sums that losses add to since they were last read.

    ``turns[i]`` are the actions of step i, i + period, .. since no mini-batch was under way, each behind its delay.
    """

    program: Program
    turns: list[Turn]
    metrics: np.ndarray[Any, Any]
    scratch: list[tuple[Action, Op]] = field(default_factory=list)
    running: list[RunningCollective] = field(default_factory=list)

    @property
    def actions(self) -> Iterator[Action]:
        """All that may be done in a turn, and when a collective is complete."""
        for turn in self.turns:
            yield from (action for _, action in turn)
        for running in self.running:
            yield from running.then


def run_kernel_action(action: Action, device: Any, clock: Clock, traced: bool) -> None:
    """Runs a kernel; where a GPU does, enqueues it, and waits for it only to trace how long it takes."""
    assert action.run is not None
    if device is None:
        return action.run()
    device.tell(clock.step)
    action.run()
    if traced:
        device.stream.synchronize()
