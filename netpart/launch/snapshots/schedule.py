"""SnapshotSchedule: when a worker takes a snapshot, and what it reports to the coordinator.

    worker                     coordinator
    STORED(step)    ──────▶                       its regions are copied, and its buddy has those that it sent
                    ◀──────    COMMITTED(step)    once all workers have said so; older snapshots are dropped
    SKIPPED(step)   ──────▶                       the last one was still under way
    FAILED(step)    ──────▶                       the buddy did not confirm in time
                    ◀──────    DROPPED(step)      to all: nobody waits for it

One snapshot is under way at a time, so that two generations are enough. A step that a worker skips is dropped by all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import thread_time

from netpart.launch.snapshots.copying import RegionSources
from netpart.launch.snapshots.duties import SnapshotDuty
from netpart.launch.snapshots.regions import Generation
from netpart.launch.snapshots.service import RegionService
from netpart.proto.control_pb2 import ControlProto, SnapshotProto
from netpart.worker.player import Player

Send = Callable[[ControlProto], None]
Sums = tuple[int, Sequence[float]]
"""Mini-batches since the last report of training, and the sums of their metrics on one worker."""


class SnapshotSchedule:
    """Snapshots of ``player``, worker ``rank`` of ``team``, every ``freq`` steps and before the first one.

    The first one gives the regions of a run that was cut anew their two copies again. ``send`` reports that,
    with ``sums`` at the time of the snapshot: who goes back to it reports them with the steps that follow. ``seconds``
    is the processor time of this thread in snapshots; ``first`` is step, processor time of the thread and ``seconds``
    after the first one.
    """

    def __init__(
        self, player: Player, service: RegionService, duty: SnapshotDuty, team: int, rank: int, freq: int, send: Send,
        sums: Callable[[], Sums] = lambda: (0, ()),
    ) -> None:  # fmt: skip
        self.service, self.store, self.duty = service, service.store, duty
        self.team, self.rank, self.freq, self.send = team, rank, freq, send
        self.sources = RegionSources(player, duty)
        self.sums = sums
        self._summed: Sums = 0, ()
        self.under_way: Generation | None = None
        self.taken = 0
        self.seconds = 0.0
        self.first: tuple[int, float, float] | None = None
        self.looked = -1
        self._newest = -1
        self._dropped: set[int] = set()
        self.store.prepare(self.sources.kept())
        service.enter(team, duty.taken)
        self._sent = self.sources.sent()

    def look(self, step: int) -> None:
        """At the boundary before ``step``: tell what the buddy has confirmed, and take the snapshot if it is due."""
        began = thread_time()
        self.tell_sent()
        if step % self.freq == 0 or self._newest < 0:
            self.take(step)
        self.seconds += thread_time() - began
        self.first = self.first or (step, thread_time(), self.seconds)
        self.looked = step

    def cost_text(self) -> str:
        """What the snapshots after the first one took of the processor, for the worker's log; "" without any."""
        if self.first is None or self.looked == self.first[0] or self.taken < 2:
            return ""
        steps = (thread_time() - self.first[1]) / (self.looked - self.first[0])
        each = (self.seconds - self.first[2]) / (self.taken - 1)
        return f"{self.taken} snapshots, {1e3 * each:.3f} ms of processor time each; {1e3 * steps:.3f} ms a step"

    def take(self, step: int) -> None:
        """Take the snapshot of ``step`` now; skip it if another is under way. One of the same step is taken once."""
        if step <= self._newest:
            return
        self._newest = step
        is_dropped = step in self._dropped
        self._dropped = {later for later in self._dropped if later > step}
        if is_dropped:
            return
        if self.under_way is not None:
            self._tell(step, SnapshotProto.SKIPPED)
            return
        self.taken += 1
        self._summed = self.sums()
        self.under_way = generation = Generation(self.team, step)
        self.store.begin(generation)
        self.sources.copy_to(self.store, generation)
        if self._sent:
            self.service.send(self.duty.buddy_address, generation, self._sent, self.rank)
        else:
            self._tell(step, SnapshotProto.STORED)

    def tell_sent(self) -> None:
        """Tell the coordinator which snapshots have reached the buddy, or will not."""
        while (sent := self.service.sent()) is not None:
            failed = SnapshotProto.FAILED if sent.failed else SnapshotProto.STORED
            self._tell(sent.generation.step, failed, sent.failed)

    def heed(self, decision: SnapshotProto) -> None:
        """Follow the coordinator's decision about a snapshot. It may come at any moment."""
        generation = Generation(self.team, decision.step)
        if decision.outcome == SnapshotProto.COMMITTED:
            self.store.commit(generation)
        elif decision.outcome == SnapshotProto.DROPPED:
            self.store.drop(generation)
            self._dropped.add(decision.step)  # perhaps before this worker has reached that step
        if self.under_way == generation:
            self.under_way = None

    def _tell(self, step: int, outcome: SnapshotProto.Outcome, reason: str = "") -> None:
        told = SnapshotProto(rank=self.rank, step=step, outcome=outcome, reason=reason)
        if outcome == SnapshotProto.STORED:  # one is under way at a time, so these are the sums of that one
            told.batches, sums = self._summed
            told.sum.extend(sums)
        self.send(ControlProto(snapshot=told))
