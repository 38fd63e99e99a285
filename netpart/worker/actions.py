"""Actions: the bound form of a Program. A player goes through them, step after step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array, Clock, Op
from netpart.program.instructions import Channel
from netpart.program.program import Program
from netpart.worker.collective_progress import CollectiveProgress
from netpart.worker.memory_access import Spans

if TYPE_CHECKING:
    from netpart.worker.gpu.nccl_collectives import NcclCall

RUN, SEND, RECEIVE, START, WAIT = range(5)


@dataclass(slots=True)
class RunningCollective:
    """A collective of one worker: its progress, its channels by message index, the ranks of its members, and its
    follow-up actions.

    ``then`` are the actions to run as soon as it is complete; ``then_replayed`` are those for a run without a trace. If
    the collective is a ``call`` of NCCL, no message is sent; ``counted`` lists the bytes that its messages would have,
    by channel. ``number`` is the sequence number of its messages since the last start; ``delay`` is the delay of its
    mini-batch then.
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
    """One bound instruction: its ``kind`` and the function to call.

    - ``name`` is for people. ``captured`` is True if a CUDA graph may repeat the action.
    - ``accesses`` is the GPU memory that it reads and writes, None if unknown. It gets ``scratch`` bytes of the
      workspace of its ``lane``.
    - ``take`` copies a received message into ``array``.
    - ``micro`` is the micro-batch that it computes, -1 if a step has only one.
    """

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
"""The actions of a step, each with its delay."""


@dataclass
class BoundProgram:
    """A Program ready to be played. ``metrics`` are the sums to which losses add since they were last read.

    ``turns[i]`` are the actions of step i, i + period, .. counted from when no mini-batch was in flight, each with its
    delay.
    """

    program: Program
    turns: list[Turn]
    metrics: np.ndarray[Any, Any]
    scratch: list[tuple[Action, Op]] = field(default_factory=list)
    running: list[RunningCollective] = field(default_factory=list)

    @property
    def actions(self) -> Iterator[Action]:
        """All actions of the turns, and those that follow a collective."""
        for turn in self.turns:
            yield from (action for _, action in turn)
        for running in self.running:
            yield from running.then


def run_kernel_action(action: Action, device: Any, clock: Clock, traced: bool) -> None:
    """Run a kernel. On a GPU this enqueues it, and waits for it only to trace its duration."""
    assert action.run is not None
    if device is None:
        return action.run()
    # A replayed graph repeats the arguments of its capture, so values that change by step are in device memory.
    device.write_step(clock.step)
    action.run()
    if traced:
        device.stream.synchronize()
