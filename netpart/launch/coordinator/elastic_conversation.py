"""ElasticConversation: the conversation with one team of an elastic run, which takes snapshots.

A run has one team after another. What belongs to the run goes from one conversation to the next: its checkpoints, its
verdicts, the secret of its region services, and whether it was asked to end.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from netpart.graph.partition import Partition
from netpart.graph.saved_holdings import assign_checkpoint_writes
from netpart.launch.control.framing import printable_text, refuse_garbled
from netpart.launch.coordinator.blame import WORDS
from netpart.launch.coordinator.conversation import Conversation, RunOptions
from netpart.launch.coordinator.kept_snapshot import HeldRegions, KeptSnapshot, keep_snapshot
from netpart.launch.coordinator.snapshot_book import SnapshotBook
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Hearer, Noticed
from netpart.launch.snapshots.duties import SnapshotDuty, assign_duties, encode_duty, kept_regions
from netpart.launch.snapshots.reader import PATHS
from netpart.launch.snapshots.regions import UPDATER, Generation
from netpart.proto.control_pb2 import ControlProto, SnapshotProto
from netpart.transport.seal_keys import SECRET_BYTES
from netpart.updaters import build_updater


class ElasticConversation(Conversation):
    """Exchange with the ``members`` of team number ``team``, which starts from the snapshot ``kept``, if any.

    ``begun`` is called when all are ready, ``committed`` with each snapshot that all have stored. ``kept`` is the
    newest such snapshot.
    """

    def __init__(
        self, partition: Partition, options: RunOptions, members: list[MemberRecord], listener: Hearer,
        send: Callable[[MemberRecord, ControlProto], None], answer: Callable[[bytes, ControlProto], None],
        team: int = 0, kept: KeptSnapshot | None = None,
    ) -> None:  # fmt: skip
        super().__init__(partition, options, members, listener, send, answer, team)
        self.kept = kept
        self.regions = kept.region_map() if kept is not None else None
        self.region_secret = secrets.token_bytes(SECRET_BYTES)
        self.snapshots = SnapshotBook(len(members))
        self.has_failed = False
        self.run_started: float | None = None
        self.held: dict[int, HeldRegions] = {}
        self.begun: Callable[[], None] = self.tell_run_start
        self.committed: Callable[[KeptSnapshot], None] = lambda snapshot: None
        if kept is not None:
            self.metrics.carried = kept.sums

    def go_on_from(self, earlier: ElasticConversation) -> None:
        """Take over what belongs to the run from the conversation with the last team."""
        self.saving, self.verdicts = earlier.saving, earlier.verdicts
        self.saving.recut(self.partition)
        self.run_started = earlier.started
        self.verdicts.go_back(self.options.first_step + (self.regions is None))
        self.relay.saving = self.saving
        self.region_secret = earlier.region_secret
        self.halting.take_request(earlier.halting)

    def make_welcome(self, member: MemberRecord) -> ControlProto:
        message = super().make_welcome(member)
        w = message.welcome
        w.region_secret, w.team = self.region_secret, self.team
        if self.regions is not None:
            files = {kind: str(path) for path, kind in PATHS.items()}
            w.restore = files.pop("parameters")
            w.restore_suffix = ""
            w.restore_updater = files[UPDATER] if build_updater(self.partition.job.updater).states else ""
            w.regions.CopyFrom(self.regions)
        return message

    def send_go(self, go: ControlProto) -> None:
        """Send ``go`` to each worker, with what it does at snapshots."""
        hosts = [m.host for m in self.members]
        duties = assign_duties(self.partition, assign_checkpoint_writes(self.partition), hosts)
        for m in self.members:
            self._send_duty(go, m, duties)
            self.held[m.seat] = HeldRegions(m.regions, tuple(kept_regions(self.partition, duties, m.rank)))

    def _send_duty(self, go: ControlProto, member: MemberRecord, duties: list[SnapshotDuty]) -> None:
        """Send ``go`` to ``member`` with its duty."""
        duty = duties[member.rank]
        duty.buddy_address = self.members[duty.buddy].regions if duty.buddy >= 0 else ""
        go.go.snapshot.CopyFrom(encode_duty(duty))
        self.send(member, go)

    def tell_start(self) -> None:
        self.started = self.started if self.run_started is None else self.run_started
        self.begun()

    def tell_run_start(self) -> None:
        """Report the start of the run, or of a team as that of the run."""
        super().tell_start()

    def on_snapshot(self, member: MemberRecord, said: Any) -> None:
        with refuse_garbled("snapshot"):
            decision = self.snapshots.hear(said)
        if said.outcome == SnapshotProto.FAILED and not self.has_failed:
            self.has_failed = True
            what = f"the snapshot of step {said.step} has no second copy"
            self.listener(Noticed(f"worker {member.rank}: {what}: {printable_text(said.reason, WORDS)}"))
        if decision is None:
            return
        for m in self.members:
            self.send(m, ControlProto(snapshot=decision))
        if decision.outcome == SnapshotProto.COMMITTED:
            self.kept = keep_snapshot(Generation(self.team, decision.step), dict(self.held), self.snapshots.sums)
            self.committed(self.kept)
