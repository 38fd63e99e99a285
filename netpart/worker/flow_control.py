"""FlowControl: a worker may run ahead of the workers to which it sends, but only by a few steps.

    sender     step 0   step 1   wait . . . . step 2         WINDOW = 2
                  │ sent   │ sent   ▲ done       │ sent
    receiver      └─▶ step 0 ───────┘    step 1 ─ …

So the number of messages queued at a slow receiver is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    """The messages by which workers that exchange data report the steps that they have finished."""

    def __init__(self, program: WorkerProgram, transport: Transport | None, trace: WorkerTrace) -> None:
        self.program = program
        self.transport = transport
        self.trace = trace
        self.readers = {phase: self.finished_by_readers(phase) for phase in program.phases}
        self.writers = {phase: self.finished_for_writers(phase) for phase in program.phases}

    def finished_by_readers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) for each worker to which this one sends; it reports its finished steps on that channel."""
        found = []
        worker = self.program.worker
        for peer in report_order(self.program.phases[phase].receivers(worker), worker, self.program.workers):
            channel = done_channel(phase, peer, self.program.worker)
            rank = self.program.phases[phase].rank(peer)
            if self.transport is not None:
                self.transport.expect(channel, rank, (0,), EMPTY.dtype, WINDOW + self.program.phases[phase].depth)
            found.append((rank, channel))
        return found

    def finished_for_writers(self, phase: str) -> list[tuple[int, Channel]]:
        """(worker, channel) for each worker that sends to this one, which reports its finished steps on that
        channel."""
        worker = self.program.worker
        writers = report_order(self.program.phases[phase].senders(worker), worker, self.program.workers)
        rank = self.program.phases[phase].rank
        return [(rank(peer), done_channel(phase, self.program.worker, peer)) for peer in writers]

    def wait(self, phase: str, step: int) -> Iterator[WaitReason]:
        """Wait until no receiver is more than WINDOW steps behind ``step``."""
        if step < WINDOW or self.transport is None:
            return
        for peer, channel in self.readers[phase]:
            began = self.trace.now()
            while self.transport.receive(channel, step - WINDOW) is None:
                yield WaitReason("the end of an earlier step", peer, phase, step, channel)
            self.trace.note(f"wait for worker {peer} to finish an earlier step", began)

    def report_step(self, phase: str, step: int) -> None:
        """Report to each worker that sends to this one that this worker has finished ``step``."""
        for peer, channel in self.writers[phase]:
            assert self.transport is not None
            self.transport.send(channel, step, peer, EMPTY)


def report_order(peers: Iterable[int], worker: int, workers: int) -> list[int]:
    """The order in which ``worker``, of so many workers, reports to its peers: from the next one on, in a circle. So
    not all report to the first worker first."""
    return sorted(peers, key=lambda peer: (peer - worker) % workers)


def done_channel(phase: str, reader: int, writer: int) -> Channel:
    """The channel on which ``reader`` reports its finished steps to ``writer``."""
    return Channel(PHASE_CODES[phase], Way.DONE, 0, reader, writer)
