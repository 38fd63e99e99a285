"""Coordinator: starts a team, hands out plans, watches, collects. It computes nothing and holds no parameter."""

from __future__ import annotations

import errno
import secrets
import signal
from time import monotonic
from typing import Any

import zmq

from netpart.checkpoint.steps import parse_step
from netpart.errors import Diverged, Interrupted, NetpartError, WorkerFailed, by
from netpart.graph.partition import Partition
from netpart.launch.blame import LAST_WORDS_SECONDS, Blame
from netpart.launch.control import HEART, KNOCK, VOICE, identity
from netpart.launch.conversation import Conversation, Options
from netpart.launch.events import Hearer, Joined
from netpart.launch.link import is_tcp, secure_server
from netpart.launch.signals import held_back
from netpart.launch.team import Team
from netpart.launch.token import BYTES
from netpart.launch.watch import Member, Verdict, Watch
from netpart.proto.control_pb2 import ControlProto, JoinedProto

LOOK_MS = 250
PARTING_SECONDS = 10.0
FAREWELL_MS = 500
"""What a stop may take to leave for another host."""


class Coordinator:
    """Runs ``partition`` on a team; ``listener`` hears of every event."""

    def __init__(
        self, partition: Partition, options: Options, context: zmq.Context[Any], listener: Hearer,
        token: bytes | None = None,
    ) -> None:  # fmt: skip
        self.options, self.listener, self.cluster = options, listener, partition.cluster
        self.token = token or secrets.token_bytes(BYTES)
        self.members = [Member(rank) for rank in range(self.cluster.size)]
        self.known = {identity(self.token, m.rank, s): m.rank for m in self.members for s in (VOICE, HEART)}
        self.socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
        self.poller = zmq.Poller()
        self.talk = Conversation(partition, options, self.members, listener, self.send)
        self.leaving = False

    def run(self, team: Team, address: str) -> list[Member]:
        """Starts the team and serves it until every worker has finished; returns what each said at the end.

        Raises ProgramRefused before the first step for workers that would wait for each other for ever; WorkerFailed
        for one that died, hung or raised, with the end of its log; MemoryRefused and DataError as it raised them;
        Diverged; Interrupted, which says how far the run had come, for any signal that would end this process. What
        else it raises has a note of the latest checkpoint.
        """
        now = monotonic()
        self.watch = Watch(self.members, self.options.deadline, now, team.start_seconds, team.absent_hint)
        self.blame = Blame(self.members, self.cluster, team)
        try:
            self.bind(address)
            with team:
                self.lead(team)
        except KeyboardInterrupt as error:
            number = getattr(error, "number", signal.SIGINT)
            raise Interrupted(number, self.interrupted(number)) from None
        except Exception as error:
            if self.talk.saving.latest or isinstance(error, Diverged):
                error.add_note(self.talk.saving.left())
            raise
        finally:
            with held_back(ending=True):
                self.socket.close(linger=FAREWELL_MS if is_tcp(address) else 0)  # first: a context waits for it
                self.talk.saving.abandon()
        return self.members

    def bind(self, address: str) -> None:
        if is_tcp(address):
            secure_server(self.socket, self.token)
        try:
            self.socket.bind(address)
        except zmq.ZMQError as error:
            away = error.errno in (errno.EADDRNOTAVAIL, errno.ENODEV)
            hint = "use an address of this host" if away else "use a free port"
            raise NetpartError(f"coordinator: expected {address} to be usable, got {error}; {hint}") from None

    def lead(self, team: Team) -> None:
        """Leads the team from its start to its end."""
        parting = team.parting_seconds
        try:
            team.start(self.socket.getsockopt_string(zmq.LAST_ENDPOINT), self.token)
            invitation = team.invitation()
            if invitation is not None:
                self.listener(invitation)
            for source in [self.socket, *team.descriptors()]:
                self.poller.register(source, zmq.POLLIN)
            self.serve(team)
            parting = PARTING_SECONDS
        finally:
            with held_back(ending=True):
                self.dismiss(team, parting)

    def serve(self, team: Team) -> None:
        """Answers and watches until every worker has finished."""
        while not all(m.finished for m in self.members):
            self.poller.poll(LOOK_MS)
            self.read_all(team)
            verdict = self.watch.look(monotonic(), team.dead(), team.stopped)
            if verdict is not None:
                self.hear_last_words(verdict, team)
                raise self.blame.failed(verdict.rank, verdict.text)
            self.look_for_movement()

    def look_for_movement(self) -> None:
        """Raises WorkerFailed if groups wait for each other for longer than the deadline and none gets on."""
        still, alone = monotonic() - self.talk.moved, len(self.members) == self.cluster.workers
        if not alone and all(m.beat.phase for m in self.members) and still > self.options.deadline:
            places = "\n".join(f"{self.cluster.name(m.rank)} is in {m.place()}" for m in self.members)
            hint = "look at whoever does not wait, or raise the deadline with --set deadline=SECONDS"
            raise WorkerFailed(f"nobody has got on for {still:.1f} s; {hint}\n{places}")

    def hear_last_words(self, verdict: Verdict, team: Team) -> None:
        """Lets the worker that will be blamed tell why, if it can; what others say now is a consequence."""
        self.blame.certain, end = verdict.rank, monotonic() + LAST_WORDS_SECONDS
        while (left := end - monotonic()) > 0 and self.socket.poll(int(left * 1000)):
            self.read_all(team)

    def dismiss(self, team: Team, seconds: float) -> None:
        """Tells everybody to stop, also who introduces himself only now, and waits until they have ended."""
        self.leaving, end = True, monotonic() + seconds
        for m in self.members:
            self.stop(m)
        while team.running() and monotonic() < end:
            self.socket.poll(20)
            self.read_all(team)

    def read_all(self, team: Team) -> None:
        """Handles what has come; a stranger's messages are dropped."""
        while self.socket.poll(0):
            name, *frames = self.socket.recv_multipart()
            if name.startswith(KNOCK + self.token) and frames:
                self.admit(name, ControlProto.FromString(frames[0]), team)
            elif name in self.known and frames:
                self.handle(self.members[self.known[name]], name, ControlProto.FromString(frames[0]), team)

    def handle(self, member: Member, name: bytes, message: ControlProto, team: Team) -> None:
        kind = str(message.WhichOneof("message"))
        member.heard = monotonic()
        if kind == "hello" and message.hello.token == self.token:
            member.identity = name
            team.met(member.rank, message.hello.pid)
            self.stop(member) if self.leaving else self.talk.welcome(member)
        elif kind == "failed" and not self.leaving:
            self.blame.hear(member, message.failed)
        elif not self.leaving:
            self.talk.hear(member, kind, getattr(message, kind))

    def admit(self, name: bytes, message: ControlProto, team: Team) -> None:
        """Answers somebody who asks to be a worker."""
        answer = ControlProto()
        answer.joined.CopyFrom(JoinedProto(refused="the run is over") if self.leaving else team.admit(message.join))
        if not answer.joined.refused:
            member = self.members[answer.joined.rank]
            member.heard = monotonic()
            self.listener(Joined(member.rank, team.where(member.rank), team.missing()))
        self.socket.send_multipart([name, answer.SerializeToString()])

    def interrupted(self, number: int = signal.SIGINT) -> str:
        """What a person who pressed Ctrl-C, or sent another signal, wants to know."""
        saved = self.talk.saving.latest
        step = max([m.beat.step for m in self.members] + ([parse_step(saved)] if saved else []), default=0)
        steps, left = self.talk.partition.job.train_steps, self.talk.saving.left()
        return f"interrupted{by(number)} in step {step} of {steps}; {left}"

    def stop(self, member: Member) -> None:
        if member.identity:
            self.send(member, ControlProto(stop=True))

    def send(self, member: Member, message: ControlProto) -> None:
        self.socket.send_multipart([member.identity, message.SerializeToString()])
