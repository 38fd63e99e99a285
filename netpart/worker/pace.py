"""Pace: a worker that sends runs ahead of those that it sends to, but not far.

    sender     step 0   step 1   wait . . . . step 2         WINDOW = 2
                  │ sent   │ sent   ▲ done       │ sent
    receiver      └─▶ step 0 ───────┘    step 1 ─ …

So what piles up at a slow receiver is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from netpart.program.instructions import PHASE_CODES, Channel, Way
from netpart.program.program import WorkerProgram
from netpart.worker.trace import WorkerTrace
from netpart.worker.wait_reasons import WaitReason

if TYPE_CHECKING:
    from netpart.transport.transport import Transport

WINDOW = 2
"""Steps that a sender may run ahead of a receiver, and a host ahead of a GPU that waits for others."""
EMPTY = np.empty(0, np.uint8)


class FlowControl:
    """The messages by which the workers that exchange others tell each other of steps they have finished."""

    def __init__(self, program: WorkerProgram, transport: Transport | None, trace: WorkerTrace) -> None:
        self.program = program
        self.transport = transport
        self.trace = trace
        self.readers = {phase: self.finished_by_readers(phase) for phase in program.phases}
        self.writers = {phase: self.finished_for_writers(phase) for phase in program.phases}

    def finished_by_readers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) of everyone that this worker sends to, and on which it hears of their finished steps."""
        found = []
        for peer in sorted(self.program.phases[phase].receivers(self.program.worker)):
            channel = done_channel(phase, peer, self.program.worker)
            rank = self.program.phases[phase].rank(peer)
            if self.transport is not None:
                self.transport.expect(channel, rank, (0,), EMPTY.dtype, WINDOW + self.program.phases[phase].depth)
            found.append((rank, channel))
        return found

    def finished_for_writers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) of everyone that sends to this worker, and hears of the steps it has finished."""
        writers = sorted(self.program.phases[phase].senders(self.program.worker))
        rank = self.program.phases[phase].rank
        return [(rank(peer), done_channel(phase, self.program.worker, peer)) for peer in writers]

    def wait(self, phase: str, step: int) -> Iterator[WaitReason]:
        """Waits until nobody is more than WINDOW steps behind ``step``."""
        if step < WINDOW or self.transport is None:
            return
        for peer, channel in self.readers[phase]:
            began = self.trace.now()
            while self.transport.receive(channel, step - WINDOW) is None:
                yield WaitReason("the end of an earlier step", peer, phase, step, channel)
            self.trace.note(f"wait for worker {peer} to finish an earlier step", began)

    def tell(self, phase: str, step: int) -> None:
        """Tells everyone that sends to this worker that it has finished ``step``."""
        for peer, channel in self.writers[phase]:
            assert self.transport is not None
            self.transport.send(channel, step, peer, EMPTY)


def done_channel(phase: str, reader: int, writer: int) -> Channel:
    """The channel on which ``reader`` tells ``writer`` which steps it has finished."""
    return Channel(PHASE_CODES[phase], Way.DONE, 0, reader, writer)
