"""Coordinator: starts a team, distributes plans, watches the workers and collects results. It computes nothing and
holds no parameters.

A process with the run's token may ask for a seat. A process with the ticket of a seat is accepted as its worker.
Messages of any other process, and malformed requests for a seat, cannot end the run.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial
from time import monotonic
from typing import Any

import zmq

from netpart.checkpoint.steps import parse_step
from netpart.choices import TRAIN
from netpart.errors import (
    NetpartError,
    RunBroken,
    SignalInterrupt,
    TrainingDiverged,
    WorkerFailed,
    WorkersAbsent,
    signal_suffix,
)
from netpart.graph.partition import Partition
from netpart.graph.read_data import locate_read_data
from netpart.launch.control.address import is_tcp_address, usable_address_error
from netpart.launch.control.framing import FRAME_BYTES, GarbledMessage, pack_message, unpack_message
from netpart.launch.control.peer_links import PeerLinks
from netpart.launch.control.seal_choice import cipher_refusal
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.secure_link import coordinator_keys, secure_server
from netpart.launch.control.signals import defer_signals, hear_halt_signal
from netpart.launch.control.token import RunToken
from netpart.launch.coordinator.blame import LAST_WORDS_SECONDS, Blame
from netpart.launch.coordinator.conversation import Conversation, RunOptions
from netpart.launch.coordinator.file_room import FileRoom
from netpart.launch.coordinator.watchdog import FailureVerdict, MemberRecord, Watchdog
from netpart.launch.report.events import Hearer, Joined, Noticed
from netpart.launch.teams.team import Team
from netpart.proto.control_pb2 import ControlProto, JoinedProto
from netpart.transport.sockets import bind_socket, limited_socket

LOOK_MS = 250
LOOK_SOON_MS = 20
"""How often the coordinator looks around while a link has closed, or it gathers workers."""
PARTING_SECONDS = 10.0
FAREWELL_MS = 500
"""How long a stop message may take to leave for another host."""
HELLO_SECONDS = 10.0
"""How long an admitted worker has to introduce itself before its seat is free again."""
NOTICES = 20
"""Maximum number of lines that a run prints about malformed messages of unknown processes."""


class Coordinator:
    """Coordinator of a run of ``partition`` on a team; ``listener`` receives every event.

    ``keys`` are those of an earlier attempt of the run (default: those of ``token``, see ``coordinator_keys``).
    ``seats``: how many processes the run may have at a time (default: one for each worker and server).
    """

    def __init__(
        self, partition: Partition, options: RunOptions, context: zmq.Context[Any], listener: Hearer,
        token: RunToken | None = None, keys: tuple[RunToken, bytes] | None = None, seats: int | None = None,
    ) -> None:  # fmt: skip
        self.options = options
        self.listener = listener
        self.cluster = partition.cluster
        shown, self.key = keys or coordinator_keys(token)
        self.members = [MemberRecord(rank) for rank in range(self.cluster.size)]
        self.seats = WorkerSeats(shown, seats or self.cluster.size)
        self.noticed = 0
        self.room = FileRoom(lambda text: self.listener(Noticed(text)))
        # Before the socket is opened: a damaged checkpoint is refused here, and nobody would close the socket.
        self.talk = self.converse(partition, options, listener)
        self.socket = limited_socket(context, zmq.ROUTER, FRAME_BYTES)
        self.links: PeerLinks | None = None
        self.poller = zmq.Poller()
        self.leaving = False
        self.again = False
        self.address = ""

    def converse(self, partition: Partition, options: RunOptions, listener: Hearer) -> Conversation:
        """The conversation with the team that computes ``partition``."""
        return Conversation(partition, options, self.members, listener, self.send, self.answer)

    @property
    def watched(self) -> Sequence[MemberRecord]:
        """The workers that there are."""
        return self.members

    def run(self, team: Team, address: str) -> list[MemberRecord]:
        """Start the team and serve it until every worker has finished; return the final record of each worker.

        Raises ProgramRefused before the first step for workers that would deadlock. Raises WorkerFailed, with the end
        of its log, for a worker that died, hung or raised an error. MemoryRefused and DataError are raised as the
        worker raised them. Also raises TrainingDiverged, and SignalInterrupt, with the progress of the run, for any
        signal that would end this process. Other errors carry a note about the latest checkpoint.
        """
        now = monotonic()
        self.address = address
        start = team.start_seconds, team.absent_hint, team.absence, team.closed_seconds
        self.watch = Watchdog(self.members, self.options.deadline, now, *start)
        self.blame = Blame(self.members, self.cluster, team, partial(locate_read_data, self.talk.partition))
        try:
            control = self.bind(address, team.here)
            with team:
                self.lead(team, control)
        except KeyboardInterrupt as error:
            number = getattr(error, "number", signal.SIGINT)
            raise SignalInterrupt(number, self.interrupted(number)) from None
        except Exception as error:
            if self.talk.saving.latest or isinstance(error, TrainingDiverged):
                error.add_note(self.talk.saving.left())
            raise
        finally:
            with defer_signals(ending=True):
                # Closed in any case, and first: terminating the context would wait for this socket.
                if self.links is not None:
                    self.links.close()
                self.socket.close(linger=FAREWELL_MS if is_tcp_address(address) else 0)
                self.talk.saving.abandon()
        return self.members

    def bind(self, address: str, here: str = "") -> str:
        """Listen at ``address`` and, if given, at ``here``; return the address for the team's own workers.

        Only processes of this user on this host can reach ``here``, so it needs no key.
        """
        if here:
            self.open(here)
        # ZeroMQ applies the key to what is bound afterwards. ``here`` was bound before, so it stays without one.
        if is_tcp_address(address):
            secure_server(self.socket, self.key)
            self.links = PeerLinks(self.socket)
            self.poller.register(self.links.monitor, zmq.POLLIN)
        endpoint = self.open(address)
        return here or endpoint

    def open(self, address: str) -> str:
        """Listen at ``address``; return it with its port."""
        try:
            return bind_socket(self.socket, address)
        except zmq.ZMQError as error:
            raise usable_address_error("coordinator", address, error.errno, os.strerror(error.errno or 0)) from None

    def lead(self, team: Team, control: str) -> None:
        """Start the team, serve it, and dismiss it."""
        parting = team.parting_seconds
        self.control = control
        try:
            team.start(control, self.seats)
            invitation = team.invitation()
            if invitation is not None:
                self.listener(invitation)
            for source in [self.socket, *team.descriptors()]:
                self.poller.register(source, zmq.POLLIN)
            with hear_halt_signal(lambda: self.talk.halting.request()) if self.can_halt else nullcontext():
                self.serve(team)
            # Only after success: workers that have finished get time to end by themselves. After a failure they get
            # what the team allows, which is 0 where they can be killed.
            parting = PARTING_SECONDS
        except TrainingDiverged:
            self.complete_checkpoints(team)
            raise
        except Exception as error:
            self.again = self.options.repeats(error)
            raise
        finally:
            with defer_signals(ending=True):
                self.dismiss(team, parting)

    def complete_checkpoints(self, team: Team) -> None:
        """Let the workers finish the checkpoint that they write: it is of a step before the numbers diverged.

        Whatever happens meanwhile is a consequence; the run ends as it would have.
        """
        end = monotonic() + self.options.deadline
        while self.talk.saving.is_awaited and not team.dead() and monotonic() < end:
            self.socket.poll(LOOK_MS)
            with suppress(NetpartError):
                self.read_all(team)

    @property
    def can_halt(self) -> bool:
        """True if the run trains, and all workers train the same mini-batches: they can stop before the same step."""
        together = self.cluster.size == self.cluster.workers
        return together and self.talk.partition.main_phase == TRAIN and not self.options.trace

    def serve(self, team: Team) -> None:
        """Answer messages and watch the workers until every worker has finished."""
        while not all(m.finished for m in self.members):
            self.await_message()
            self.read_all(team)
            self.talk.halting.look()
            verdict = self.watch.look(monotonic(), team.dead(), team.stopped)
            if verdict is not None:
                self.hear_last_words(verdict, team)
                raise self.verdict_error(verdict)
            self.forget_absent(team)
            self.room.look()
            self.look_for_movement()

    def await_message(self) -> None:
        """Wait until something arrives or ends, not for long; for less if a link has closed."""
        self.poller.poll(LOOK_SOON_MS if any(m.closed for m in self.watched) else LOOK_MS)

    def note_closed_links(self) -> None:
        """Note which workers have lost their link. To be called when all that they sent is read."""
        for name in self.links.closed() if self.links is not None else ():
            seat = self.seats.lost_with(name)
            member = next((m for m in self.watched if m.seat == seat and m.identity), None)
            if member is not None and not member.closed:
                member.closed = monotonic()

    def verdict_error(self, verdict: FailureVerdict) -> WorkerFailed:
        """The error that ends the run after the watchdog's verdict."""
        if not verdict.absent:
            return self.blame.lost(verdict.rank, verdict.text)
        error = self.blame.failed(verdict.rank, verdict.text, WorkersAbsent)
        error.absent = verdict.absent
        return error

    def forget_absent(self, team: Team) -> None:
        """Free the seats of workers that were admitted and have not introduced themselves since."""
        for m in self.watched:
            where = team.where(m.seat)
            silent = monotonic() - m.heard
            if where and not m.identity and silent > HELLO_SECONDS:
                self.take_seat(m, team)
                text = f"worker {m.seat} ({where}) joined and has not been heard for {silent:.0f} s; its seat is free"
                self.listener(Noticed(text))

    def take_seat(self, member: MemberRecord, team: Team) -> None:
        """Free the seat of a worker that has not introduced itself."""
        team.leave(member.seat)
        self.seats.free(member.seat)

    def notice(self, text: str) -> None:
        """Report a malformed message of a process that has joined or asks to join, at most ``NOTICES`` times."""
        self.noticed += 1
        if self.noticed <= NOTICES:
            self.listener(Noticed(text if self.noticed < NOTICES else f"{text} (the last such line)"))

    def look_for_movement(self) -> None:
        """Raise WorkerFailed if groups wait for each other for longer than the deadline and none makes progress."""
        still = monotonic() - self.talk.moved
        alone = len(self.members) == self.cluster.workers
        if not alone and all(m.beat.phase for m in self.members) and still > self.options.deadline:
            places = "\n".join(f"{self.cluster.name(m.rank)} is in {m.last_moment()}" for m in self.members)
            hint = "look at the worker that does not wait, or raise the deadline with --set deadline=SECONDS"
            raise RunBroken(f"no worker has made progress for {still:.1f} s; {hint}\n{places}")

    def hear_last_words(self, verdict: FailureVerdict, team: Team) -> None:
        """Give the worker that will be blamed a short time to report the reason. Messages of other workers are
        consequences now."""
        self.blame.certain = verdict.rank
        end = monotonic() + LAST_WORDS_SECONDS
        while (left := end - monotonic()) > 0 and self.socket.poll(int(left * 1000)):
            self.read_all(team)

    def dismiss(self, team: Team, seconds: float) -> None:
        """Tell all workers to stop, also one that introduces itself only now, and wait until they have ended."""
        self.leaving = True
        end = monotonic() + seconds
        for m in self.watched:
            self.stop(m)
        while team.running() and monotonic() < end:
            self.socket.poll(20)
            self.read_all(team)

    def read_all(self, team: Team) -> None:
        """Handle all messages that have arrived, and note links that closed. Messages of unknown processes are
        dropped."""
        while self.socket.poll(0):
            # The identity is derived from the ticket's secret, so knowing it is what authenticates a worker.
            name, parts = self.read_message()
            seat = self.seats.ranks.get(name)
            if seat is not None:
                self.take(self.member_on(seat), name, parts, team)
            elif self.seats.asks_for_seat(name):
                self.admit(name, parts, team)
            elif name in self.seats.left:
                late = f"its seat was given up after {HELLO_SECONDS:g} s of silence; join again"
                self.socket.send_multipart([name, *pack_message(ControlProto(joined=JoinedProto(refused=late)))])
        self.note_closed_links()

    def read_message(self) -> tuple[bytes, list[bytes]]:
        """The name of a socket and its message, which must be there."""
        if self.links is not None:
            return self.links.read_message()
        name, *parts = self.socket.recv_multipart()
        return name, parts

    def member_on(self, seat: int) -> MemberRecord:
        """The record of the worker on ``seat``."""
        return self.members[seat]

    def take(self, member: MemberRecord, name: bytes, parts: Sequence[bytes], team: Team) -> None:
        """Handle a message of the holder of a ticket. Raises WorkerFailed for a message that no worker sends."""
        member.asker = name
        try:
            self.handle(member, name, unpack_message(parts), team)
        except GarbledMessage as error:
            if not member.identity:
                self.notice(f"a process that joined as worker {member.seat} sent no valid message: {error}")
            elif not self.leaving:
                self.refuse_message(member, error, team)

    def refuse_message(self, member: MemberRecord, error: GarbledMessage, team: Team) -> None:
        """Raise WorkerFailed for a message that no worker sends."""
        raise self.blame.failed(member.rank, str(error), WorkerFailed) from error

    def handle(self, member: MemberRecord, name: bytes, message: ControlProto, team: Team) -> None:
        """Handle a message of the holder of a ticket; ``hello`` introduces the worker, and other messages count only
        after it."""
        kind = str(message.WhichOneof("message"))
        if kind != "hello" and not member.identity:
            return  # a heartbeat or an old message cannot introduce a worker
        member.heard = monotonic()
        if kind == "hello" and message.hello.token == self.seats.ticket(member.seat).secret:
            member.identity = name
            team.note_process(member.seat, message.hello.pid)
            self.stop(member) if self.leaving else self.introduce(member)
        elif not self.leaving:
            self.hear_message(member, kind, getattr(message, kind), team)

    def introduce(self, member: MemberRecord) -> None:
        """Answer a worker that has introduced itself."""
        self.talk.welcome(member)

    def hear_message(self, member: MemberRecord, kind: str, said: Any, team: Team) -> None:
        """Handle a message of ``kind`` from a worker that has introduced itself."""
        if kind == "failed":
            self.blame.report_failure(member, said)
        else:
            self.talk.hear(member, kind, said)

    def admit(self, name: bytes, parts: Sequence[bytes], team: Team) -> None:
        """Answer a process that has the token and asks to be a worker."""
        if self.leaving and self.again:
            return  # it asks again once this socket is closed, and then reaches the next attempt
        joined = JoinedProto(refused="the run is over") if self.leaving else self.decide(parts, team)
        if not joined.refused:
            member = self.member_on(joined.rank)
            member.heard = monotonic()
            joined.ticket = self.seats.ticket(joined.rank).secret
            self.announce(member, team)
        self.socket.send_multipart([name, *pack_message(ControlProto(joined=joined))])

    def announce(self, member: MemberRecord, team: Team) -> None:
        """Report a worker that has a seat now."""
        self.listener(Joined(member.seat, team.where(member.seat), team.missing()))

    def decide(self, parts: Sequence[bytes], team: Team) -> JoinedProto:
        """Decide whether a process may take part."""
        try:
            message = unpack_message(parts)
            if message.WhichOneof("message") != "join":
                raise GarbledMessage(f"expected a request to join, got {message.WhichOneof('message')}")
            why = cipher_refusal(self.talk.secret, self.address, message.join.seal)
            return JoinedProto(refused=why) if why else team.admit(message.join)
        except GarbledMessage as error:
            self.notice(f"a process that has the token was refused: {error}")
            return JoinedProto(refused=str(error))

    def interrupted(self, number: int = signal.SIGINT) -> str:
        """The text for a user who pressed Ctrl-C or sent another signal: the step reached, and the latest
        checkpoint."""
        phase = self.talk.partition.main_phase
        if phase != TRAIN:
            return f"interrupted{signal_suffix(number)} in phase {phase}; the checkpoint is as it was"
        saved = self.talk.saving.latest
        step = max([m.beat.step for m in self.members] + ([parse_step(saved)] if saved else []), default=0)
        steps = self.talk.partition.job.train_steps
        left = self.talk.saving.left()
        return f"interrupted{signal_suffix(number)} in step {step} of {steps}; {left}"

    def stop(self, member: MemberRecord) -> None:
        """Tell a worker to stop, and whether the run starts again."""
        if member.identity:
            self.send(member, ControlProto(rejoin=True) if self.again else ControlProto(stop=True))

    def send(self, member: MemberRecord, message: ControlProto) -> None:
        self.socket.send_multipart([member.identity, *pack_message(message)])

    def answer(self, name: bytes, message: ControlProto) -> None:
        """Send to the socket ``name`` of a worker."""
        self.socket.send_multipart([name, *pack_message(message)])
