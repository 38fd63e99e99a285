"""ElasticCoordinator: goes on when workers are lost, and takes in workers that come later.

    a worker is lost     every other one is asked to leave the team, which it does at its next message    (regroup)
    all have left        the job is cut anew for those that are there                                     (standby)
    welcome              regions flow from worker to worker, from the last snapshot
    ready, go            the run goes on with the step of that snapshot

A message that comes before a worker has left is of the old team, and is dropped; so are frames, which have the run id
of their team. A loss in the middle of this begins it again. A worker that comes later waits until a snapshot is
committed: then all leave the team, and it takes part in the next one.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

import zmq

from netpart.choices import TRAIN
from netpart.errors import RunBroken
from netpart.graph.partition import Partition
from netpart.graph.read_data import locate_read_data
from netpart.launch.control.framing import GarbledMessage
from netpart.launch.control.token import RunToken
from netpart.launch.coordinator.blame import PASSING, Blame
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.coordinator import HELLO_SECONDS, LOOK_SOON_MS, Coordinator
from netpart.launch.coordinator.elastic_conversation import ElasticConversation
from netpart.launch.coordinator.gathering import Gathering
from netpart.launch.coordinator.job_cutter import JobCutter, describe_cut
from netpart.launch.coordinator.kept_snapshot import KeptSnapshot
from netpart.launch.coordinator.missed_links import MissedLinks
from netpart.launch.coordinator.restart_point import RestartPoint, find_restart_point, resumed_cut
from netpart.launch.coordinator.seat_view import SeatView
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Hearer, Lost, Measured, Noticed, Recut, Updated, WentOn
from netpart.launch.report.watch_events import WatchEvent
from netpart.launch.teams.team import Team
from netpart.proto.control_pb2 import ControlProto, RegroupProto
from netpart.units import plural_text

SPARE = -1
"""The rank of a worker that waits to take part."""
TRIES = 8
"""How often a run goes back to the same snapshot. After that, what fails is not chance."""


class ElasticCoordinator(Coordinator):
    """Coordinator of an elastic run. ``cutter`` cuts the job for the workers that are there. ``respawn``: a lost worker
    of this host is started again."""

    talk: ElasticConversation

    def __init__(
        self, partition: Partition, options: RunOptions, context: zmq.Context[Any], listener: Hearer,
        token: RunToken | None, keys: tuple[RunToken, bytes] | None, cutter: JobCutter, respawn: bool = False,
    ) -> None:  # fmt: skip
        self.first_options = options
        self.cutter = cutter
        self.respawn = respawn
        self.team_number = 0
        self.gathering: Gathering | None = None
        self.starting: Gathering | None = None
        self.tries = 0
        self.has_begun = False
        self.respawned: dict[int, int] = {}
        self.polled: set[int] = set()
        self.troubles: list[str] = []
        self.missed = MissedLinks()
        self.pace: float | None = None
        self.tell = listener
        super().__init__(partition, options, context, self.hear_event, token, keys, max(cutter.most, partition.workers))
        self.present = {member.seat: member for member in self.members}

    def hear_event(self, event: WatchEvent | Updated) -> None:
        """Pass on an event of the run, and note how long a step takes."""
        if isinstance(event, Measured) and event.phase == TRAIN and event.samples_per_second > 0:
            self.pace = self.talk.metrics.rows(TRAIN) / event.samples_per_second
        self.tell(event)

    def converse(self, partition: Partition, options: RunOptions, listener: Hearer) -> ElasticConversation:
        talk = ElasticConversation(partition, options, self.members, listener, self.send, self.answer)
        talk.committed = self.note_commit
        talk.begun = self.note_first_begin
        return talk

    @property
    def watched(self) -> list[MemberRecord]:
        return list(self.present.values())

    def announce(self, member: MemberRecord, team: Team) -> None:
        """Report a worker that the first team waits for; any other one is reported when it takes part."""
        if member.rank != SPARE:
            super().announce(member, team)

    def take_seat(self, member: MemberRecord, team: Team) -> None:
        super().take_seat(member, team)
        if member.rank == SPARE:
            del self.present[member.seat]

    def refuse_message(self, member: MemberRecord, error: GarbledMessage, team: Team) -> None:
        """Give up a worker that sends what no worker sends."""
        self.lose(member.seat, str(error), team)

    def member_on(self, seat: int) -> MemberRecord:
        if seat not in self.present:
            now = monotonic()
            self.present[seat] = MemberRecord(SPARE, seat, heard=now, since=now)
        return self.present[seat]

    def serve(self, team: Team) -> None:
        """Serve one team after another until every worker of the last one has finished."""
        while self.gathering or not all(m.finished for m in self.members):
            self.follow_processes(team)
            self.await_message()
            self.read_all(team)
            self.look_for_losses(team)
            self.gather_after_troubles(team)
            if self.gathering:
                self.go_on_if_all_left(team)
            else:
                self.talk.halting.look()
            self.forget_absent(team)
            self.room.look()

    def await_message(self) -> None:
        self.poller.poll(LOOK_SOON_MS) if self.gathering else super().await_message()

    def follow_processes(self, team: Team) -> None:
        """Listen to the ends of the processes that there are now."""
        now = set(team.descriptors())
        for gone in self.polled - now:
            self.poller.unregister(gone)
        for new in now - self.polled:
            self.poller.register(new, zmq.POLLIN)
        self.polled = now

    def introduce(self, member: MemberRecord) -> None:
        """Welcome a worker of the first team; any other one waits."""
        if self.gathering:
            self.gathering.awaited.discard(member.seat)
        elif member.rank != SPARE:
            self.talk.welcome(member)

    def hear_message(self, member: MemberRecord, kind: str, said: Any, team: Team) -> None:
        """Handle a message. Those of a team that is being left are dropped, but for its failures."""
        if kind == "standby":
            if self.gathering and said.team == self.gathering.team:
                self.gathering.awaited.discard(member.seat)
        elif kind == "failed":
            self.hear_failure(member, said, team)
        elif kind == "beat" and (self.gathering or member.rank == SPARE):
            member.beat = said
        elif not self.gathering and member.rank != SPARE:
            self.talk.hear(member, kind, said)

    def hear_failure(self, member: MemberRecord, failed: Any, team: Team) -> None:
        """Take the failure of a worker. One that may be that of another worker, or of a link, makes all regroup."""
        if failed.kind == "InterruptedThere" or member.rank == SPARE:
            return self.lose(member.seat, failed.message, team)
        if failed.kind == "MemoryRefused" and self.team_number and not self.gathering and self.tries:
            self.cutter.refuse(len(self.members), failed.message)
            self.troubles.append(f"worker {member.rank}: {failed.message}")
        elif failed.kind not in PASSING:
            self.blame.report_failure(member, failed)
        else:
            text = failed.message.removeprefix(f"worker {member.rank}: ").removeprefix(f"rank {member.rank}: ")
            self.troubles.append(f"worker {member.rank}, {failed.doing}: {text}")
            self.note_missed(member, failed, text)
        return None

    def note_missed(self, member: MemberRecord, failed: Any, text: str) -> None:
        """Note whom a worker that has failed did not hear or reach. While all regroup, the links close anyway."""
        if failed.HasField("peer") and 0 <= failed.peer < len(self.members) and not self.gathering:
            self.missed.note(member.seat, self.members[failed.peer].seat, failed.unreached, text)

    def gather_after_troubles(self, team: Team) -> None:
        """Let all regroup if a worker has failed: a link was cut, or the one at fault is not known to be gone yet."""
        if self.troubles and not self.gathering:
            self.listener(Noticed(self.troubles[0]))
            self.cast_out(team)
            self.gather()
        self.troubles.clear()

    def cast_out(self, team: Team) -> None:
        """Give up one of two workers that have missed each other too often, so that the others go on."""
        found = self.missed.outcast(lambda seat: self.present[seat].since)
        if found is not None:
            why = f"it and {self.seat_name(found.other, team)} do not reach each other: {self.missed.reason(found)}"
            self.lose(found.seat, why, team)

    def seat_name(self, seat: int, team: Team) -> str:
        """The worker on ``seat`` in words."""
        where = team.where(seat)
        member = self.present.get(seat)
        return f"worker {member.rank if member else seat}{f' ({where})' if where else ''}"

    def look_for_losses(self, team: Team) -> None:
        """Give up each worker that has ended, is stopped or is not heard."""
        self.watch.members, self.watch.is_awaited = self.watched, bool(self.gathering or self.starting)
        while (verdict := self.watch.look(monotonic(), team.dead(), team.stopped)) is not None:
            self.lose(verdict.rank, verdict.text, team)
            self.watch.members = self.watched
        if self.gathering:
            self.stop_waiting(self.gathering, monotonic() - self.gathering.asked, team)

    def stop_waiting(self, gathering: Gathering, waited: float, team: Team) -> None:
        """Give up workers that do not leave the old team; go on without those that have not introduced themselves."""
        there = {m.seat for m in self.watched if m.identity}
        if waited > HELLO_SECONDS:
            gathering.awaited &= there
        if waited > self.options.deadline:
            for seat in sorted(gathering.awaited):
                self.lose(seat, f"has not left its team within {self.options.deadline:g} s", team)

    def lose(self, seat: int, reason: str, team: Team) -> None:
        """Go on without the worker on ``seat``."""
        member = self.present.pop(seat)
        if self.talk.kept is not None:
            self.talk.kept = self.talk.kept.without(seat)
        where = team.where(seat)
        self.stop(member)  # in case it hears that: it is not killed on another host
        team.retire(seat)
        self.follow_processes(team)
        self.seats.free(seat)
        self.missed.forget(seat)
        self.start_again(seat, team)
        if member.rank == SPARE:
            self.listener(Noticed(f"a worker that waited to take part ({where or f'seat {seat}'}) is gone: {reason}"))
            return
        self.listener(Lost(member.rank, where, reason))
        self.gather()
        assert self.gathering is not None
        self.gathering.awaited.discard(seat)
        self.gathering.lost.append(f"worker {member.rank}{f' ({where})' if where else ''}: {reason}")

    def start_again(self, seat: int, team: Team) -> None:
        """Start a process in place of the one on ``seat``, if that is asked for."""
        self.respawned[seat] = self.respawned.get(seat, 0) + 1
        again = (self.respawn or team.refills) and self.respawned[seat] <= TRIES
        if again and team.restart(seat, self.control, self.seats):
            self.member_on(seat)

    def gather(self) -> None:
        """Ask all workers of the team to leave it, unless they are asked already."""
        if self.gathering:
            return
        self.team_number += 1
        members = [m for m in self.members if self.present.get(m.seat) is m]
        reached = max((m.beat.step for m in self.members), default=0)
        self.gathering = self.starting or Gathering(monotonic(), reached)
        self.gathering.await_team(self.team_number, {m.seat for m in members})
        for m in members:
            if m.identity:
                self.send(m, ControlProto(regroup=RegroupProto(team=self.team_number)))

    def go_on_if_all_left(self, team: Team) -> None:
        """Begin the next team once all workers have left the old one, and enough are there."""
        assert self.gathering is not None
        if self.gathering.awaited:
            return
        ready = [m for m in self.watched if m.identity]
        cut = self.cutter.cut_for(len(ready)) if len(ready) >= self.cutter.least else None
        if cut is not None:
            return self.begin_team(cut, ready, team)
        self.wait_for_seat(len(ready), team)
        return None

    def wait_for_seat(self, ready: int, team: Team) -> None:
        """Wait for another worker. Raises RunBroken where none can come, or none comes in time."""
        assert self.gathering is not None
        comes = any(not m.identity for m in self.watched) or bool(team.free_seats())
        least = plural_text(self.cutter.least, "worker")
        why = f"; {self.cutter.refusal}" if self.cutter.refusal else ""
        if not comes or monotonic() > self.gathering.asked + team.start_seconds:
            lost = "\n".join(self.gathering.lost)
            raise RunBroken(f"{ready} of at least {least} left{why}; continue with --resume\n{lost}")
        if not self.gathering.waits:
            self.gathering.waits = True
            self.listener(Noticed(f"{ready} of at least {least} left{why}; waiting for another one"))

    def begin_team(self, cut: Partition, ready: list[MemberRecord], team: Team) -> None:
        """Hand out the new cut, to the workers of the last team first."""
        gathering = self.gathering
        assert gathering is not None
        self.gathering, self.starting = None, gathering
        self.tries += 1
        if self.tries > TRIES:
            missed = self.missed.lines(lambda seat: self.seat_name(seat, team))
            raise RunBroken("\n".join([f"{TRIES} teams have ended before a snapshot", *gathering.lost, *missed]))
        ready.sort(key=lambda m: (m.rank == SPARE, m.rank, m.seat))
        now = monotonic()
        gathering.joined += [team.where(m.seat) or "this host" for m in ready[: cut.workers] if m.rank == SPARE]
        self.members = [
            MemberRecord(r, m.seat, m.identity, heard=now, since=m.since, closed=m.closed)
            for r, m in enumerate(ready[: cut.workers])
        ]
        for m in self.watched:
            m.rank = SPARE  # but for those below
        self.present |= {m.seat: m for m in self.members}
        point = find_restart_point(self.talk.kept, self.talk.saving.latest, self.first_options)
        self.cluster, self.options = cut.cluster, point.options
        if point.saved:
            cut = resumed_cut(cut)  # the first workers must not save that checkpoint again
        self.start_talk(cut, point, gathering, team)

    def start_talk(self, cut: Partition, point: RestartPoint, gathering: Gathering, team: Team) -> None:
        """Begin the conversation with the new team, and welcome its workers."""
        earlier = self.talk
        self.talk = ElasticConversation(
            cut, point.options, self.members, self.listener, self.send, self.answer, gathering.team, point.kept
        )
        self.talk.go_on_from(earlier)
        self.talk.committed = self.note_commit
        self.talk.begun = lambda: self.note_begin(point, gathering)
        self.blame = Blame(self.members, self.cluster, SeatView(team, self.members), self.locate_data)
        if gathering.lost:
            step = point.options.first_step
            seconds = self.predict_step(earlier.partition, cut)
            left = sum(bool(m.identity) for m in self.watched)
            self.listener(Recut(step, cut.workers, left, point.source, describe_cut(cut), seconds))
        for m in self.members:
            self.seats.enter_team(m.seat, gathering.team)
            self.talk.welcome(m)

    def predict_step(self, old: Partition, new: Partition) -> float | None:
        """Seconds of a step under a ``new`` cut: those measured under the ``old`` one, changed as much as predictions
        are; None before any were measured."""
        before = self.cutter.predict(old)
        if self.pace is None or not before:
            return None
        self.pace *= self.cutter.predict(new) / before
        return self.pace

    def locate_data(self, phase: str, doing: str) -> Any:
        """The field of the job that names the data which an action of a phase reads."""
        return locate_read_data(self.talk.partition, phase, doing)

    def note_first_begin(self) -> None:
        """Report that the run has begun."""
        self.has_begun = True
        self.talk.tell_run_start()

    def dismiss(self, team: Team, seconds: float) -> None:
        for m in [m for m in self.watched if m.rank == SPARE and not m.identity]:
            team.retire(m.seat)  # the run need not wait for a process that only starts
        super().dismiss(team, seconds)

    def note_begin(self, point: RestartPoint, gathering: Gathering) -> None:
        """Report that the run goes on."""
        self.starting = None
        if not self.has_begun:
            self.note_first_begin()
        step = point.options.first_step
        again = max(0, gathering.reached - step)
        seconds = monotonic() - gathering.began
        lost, joined = tuple(gathering.lost), tuple(gathering.joined)
        self.listener(WentOn(step, len(self.members), seconds, again, point.source, lost, joined))

    def note_commit(self, snapshot: KeptSnapshot) -> None:
        """Take in the workers that wait, now that no step would be lost."""
        self.tries = 0
        self.missed.clear()
        self.respawned.clear()
        waiting = [m for m in self.watched if m.rank == SPARE and m.identity]
        if waiting and len(self.members) < self.cutter.most and not self.gathering:
            larger = self.cutter.cut_for(len(self.members) + len(waiting))
            if larger is not None and larger.workers > len(self.members):
                self.gather()
