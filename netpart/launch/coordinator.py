"""Coordinator: starts a team, hands out plans, watches, collects. It computes nothing and holds no parameter."""

from __future__ import annotations

import secrets
import select
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import zmq

from netpart.errors import DataError, MemoryRefused, NetpartError, WorkerFailed
from netpart.graph.partition import Partition
from netpart.graph.subgraph import encode
from netpart.launch.control import HEART, KNOCK, VOICE, identity
from netpart.launch.devices import dealt
from netpart.launch.events import Hearer, Joined, Measured, Saved, Started, Updated
from netpart.launch.link import is_tcp, secure_server
from netpart.launch.loop import updater_file
from netpart.launch.metrics import MetricBook
from netpart.launch.relay import Relay
from netpart.launch.saving import CheckpointBook, writers
from netpart.launch.spoken import decode
from netpart.launch.team import Team
from netpart.launch.token import BYTES
from netpart.launch.watch import Member, Watch, place
from netpart.program.communication import served
from netpart.program.rehearse import rehearse
from netpart.proto.control_pb2 import ClockProto, ControlProto, JoinedProto
from netpart.updaters import AVERAGE

LOOK_MS = 250
PARTING_SECONDS = 10.0
FAREWELL_MS = 500
"""What a stop may take to leave for another host."""
LAST_WORDS_SECONDS = 0.1
"""What a process said before it died may come in a little after the news of its death."""
TOLD: dict[str, type[NetpartError]] = {"MemoryRefused": MemoryRefused, "DataError": DataError}
"""Errors of a worker that keep their class; their messages need no log."""
PLAIN = ("WorkerFailed", "Overdue", "TransportError", "ConfigError", "NetpartError", *TOLD)
"""Errors whose messages say enough without the name of their class."""


@dataclass(frozen=True)
class Options:
    """How a run is run, beyond its job. ``averages``: parameters start from those that lie beside ``restore``;
    ``trace``: it only trains, and every worker tells what it did when; ``kernels``: those of the job, in words."""

    folder: Path
    workspace: Path
    seed: int
    device: str
    deadline: float
    report_every: int
    restore: Path | None = None
    first_step: int = 0
    transport: str = "zeromq"
    averages: bool = False
    trace: bool = False
    kernels: str = ""


class Coordinator:
    """Runs ``partition`` on a team; ``listener`` hears of every event."""

    def __init__(
        self, partition: Partition, options: Options, context: zmq.Context[Any], listener: Hearer,
        token: bytes | None = None,
    ) -> None:  # fmt: skip
        self.partition, self.options, self.listener = partition, options, listener
        self.cluster = partition.cluster
        self.token, self.run_id = token or secrets.token_bytes(BYTES), secrets.token_bytes(8)
        self.members = [Member(rank) for rank in range(self.cluster.size)]
        self.known = {identity(self.token, m.rank, s): m.rank for m in self.members for s in (VOICE, HEART)}
        self.socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
        self.poller = zmq.Poller()
        self.metrics = MetricBook(partition)
        self.saving = CheckpointBook(partition, options.workspace / "checkpoint")
        restored = [p for p in (options.restore, options.restore and updater_file(options.restore)) if p]
        self.relay = Relay(self.saving, {str(p) for p in restored if p.exists()})
        self.started = monotonic()
        self.leaving = False
        self.blamed: int | None = None
        self.moved = monotonic()

    def run(self, team: Team, address: str) -> list[Member]:
        """Starts the team and serves it until every worker has finished; returns what each said at the end.

        Raises ProgramRefused before the first step for workers that would wait for each other for ever; WorkerFailed
        for one that died, hung or raised, with the end of its log; MemoryRefused and DataError as it raised them;
        KeyboardInterrupt that says how far the run had come.
        """
        now = monotonic()
        self.watch = Watch(self.members, self.options.deadline, now, team.start_seconds, team.absent_hint)
        try:
            self.bind(address)
            with team:
                self.lead(team)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self.interrupted()) from None
        finally:
            self.saving.abandon()
            self.socket.close(linger=FAREWELL_MS if is_tcp(address) else 0)
        return self.members

    def bind(self, address: str) -> None:
        if is_tcp(address):
            secure_server(self.socket, self.token)
        try:
            self.socket.bind(address)
        except zmq.ZMQError as error:
            raise NetpartError(f"coordinator: expected {address} to be usable, got {error}; use a free port") from None

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
            self.dismiss(team, parting)

    def serve(self, team: Team) -> None:
        """Answers and watches until every worker has finished."""
        while not all(m.finished for m in self.members):
            self.poller.poll(LOOK_MS)
            self.read_all(team)
            verdict = self.watch.look(monotonic(), team.dead(), team.stopped)
            if verdict is not None:
                self.hear_last_words(verdict.rank, team)
                raise WorkerFailed(self.blame(verdict.rank, verdict.text, team))
            self.look_for_movement()

    def look_for_movement(self) -> None:
        """Raises WorkerFailed if groups wait for each other for longer than the deadline and none gets on."""
        still, alone = monotonic() - self.moved, len(self.members) == self.cluster.workers
        if not alone and all(m.beat.phase for m in self.members) and still > self.options.deadline:
            places = "\n".join(f"{self.cluster.name(m.rank)} is in {m.place()}" for m in self.members)
            hint = "look at whoever does not wait, or raise the deadline with --set deadline=SECONDS"
            raise WorkerFailed(f"nobody has got on for {still:.1f} s; {hint}\n{places}")

    def hear_last_words(self, rank: int, team: Team) -> None:
        """Lets the worker that will be blamed tell why, if it can; what others say now is a consequence."""
        self.blamed, end = rank, monotonic() + LAST_WORDS_SECONDS
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
        kind = message.WhichOneof("message")
        handler: Callable[[Member, Any, Team], None] | None = getattr(self, f"on_{kind}", None)
        member.heard = monotonic()
        if kind != "beat":
            self.moved = member.heard
        if kind == "hello" and message.hello.token == self.token:
            member.identity = name
            team.met(member.rank, message.hello.pid)
            self.stop(member) if self.leaving else self.welcome(member)
        elif handler is not None and not self.leaving:
            handler(member, getattr(message, str(kind)), team)

    def admit(self, name: bytes, message: ControlProto, team: Team) -> None:
        """Answers somebody who asks to be a worker."""
        answer = ControlProto()
        answer.joined.CopyFrom(JoinedProto(refused="the run is over") if self.leaving else team.admit(message.join))
        if not answer.joined.refused:
            member = self.members[answer.joined.rank]
            member.heard = monotonic()
            self.listener(Joined(member.rank, team.where(member.rank), team.missing()))
        self.socket.send_multipart([name, answer.SerializeToString()])

    def welcome(self, member: Member) -> None:
        options, message = self.options, ControlProto()
        w = message.welcome
        number = self.cluster.number(member.rank)
        w.plan, w.run_id, w.folder = encode(self.partition, number), self.run_id, str(options.folder)
        w.device = ",".join(dealt(options.device.split(","), self.cluster))
        w.seed, w.deadline = options.seed, options.deadline
        w.restore, w.first_step = str(options.restore or ""), options.first_step
        beside = updater_file(options.restore) if options.restore else None
        if beside is not None and options.averages:
            w.restore, w.restore_suffix = str(beside), f".{AVERAGE}"
        elif beside is not None and str(beside) in self.relay.sources:
            w.restore_updater = str(beside)
        if member.rank in self.cluster.keepers:
            w.writes.extend(writers(self.partition)[number])
        w.report_every, w.transport, w.workers = options.report_every, options.transport, len(self.members)
        w.trace = options.trace
        self.send(member, message)

    def on_ready(self, member: Member, ready: Any, team: Team) -> None:
        member.address, member.memory, member.device = ready.address, ready.memory_bytes, ready.device
        member.spoken, member.threads = decode(ready.spoken), ready.threads
        if any(m.address is None for m in self.members):
            return
        self.rehearse()
        go = ControlProto()
        go.go.SetInParent()
        for m in self.members:
            go.go.address.add(rank=m.rank, address=m.address)
        self.started = self.metrics.last = monotonic()
        for m in self.members:
            self.send(m, go)
        self.listener(
            Started(
                self.partition.graph.net.name, len(self.members), self.partition.job.train_steps,
                self.options.first_step, self.metrics.rows("train"),
                tuple(m.device for m in self.members), tuple(m.memory for m in self.members),
                self.options.transport, self.options.kernels, tuple(m.threads for m in self.members),
                str(self.cluster) if len(self.members) > self.cluster.workers else "",
            )
        )  # fmt: skip

    def rehearse(self) -> None:
        """Plays what the workers of each group, and the servers, have compiled, before they do; raises
        ProgramRefused."""
        for group in range(self.cluster.groups):
            spoken = [self.members[rank].spoken for rank in self.cluster.ranks(group)]
            for number in range(self.cluster.workers, len(spoken)):
                spoken[number] = {"train": spoken[number][served(group)]}
            rehearse(spoken)
        for m in self.members:
            m.spoken = {}

    def on_beat(self, member: Member, beat: Any, team: Team) -> None:
        if (beat.phase, beat.step, beat.doing) != (member.beat.phase, member.beat.step, member.beat.doing):
            self.moved = member.heard
        member.beat = beat

    def on_updates(self, member: Member, updates: Any, team: Team) -> None:
        numbers = list(updates.number)
        for at in range(0, len(numbers), 4):
            self.listener(Updated(member.rank, *numbers[at : at + 4]))

    def on_report(self, member: Member, report: Any, team: Team) -> None:
        done = self.metrics.add(report, self.cluster.workers)
        if done is not None:
            refuse_divergence(report.phase, report.step, done.metrics)
            seconds = monotonic() - self.started
            self.listener(
                Measured(report.phase, report.step, done.metrics, seconds, done.samples_per_second, done.tables)
            )

    def on_checkpoint_due(self, member: Member, due: Any, team: Team) -> None:
        answer = ControlProto()
        path, updater_path = self.saving.open(due.step)
        answer.checkpoint_open.step, answer.checkpoint_open.path = due.step, str(path.absolute())
        answer.checkpoint_open.updater_path = str(updater_path.absolute()) if updater_path else ""
        self.send(member, answer)

    def on_checkpoint_written(self, member: Member, written: Any, team: Team) -> None:
        path = self.saving.written(written.step, member.rank)
        if path is not None:
            self.listener(Saved(written.step, path))

    def on_region_write(self, member: Member, region: Any, team: Team) -> None:
        self.send(member, ControlProto(region=self.relay.write(region)))

    def on_region_read(self, member: Member, region: Any, team: Team) -> None:
        self.send(member, ControlProto(region=self.relay.read(region)))

    def on_clock(self, member: Member, clock: Any, team: Team) -> None:
        self.send(member, ControlProto(clock=ClockProto(seconds=perf_counter())))

    def on_trace(self, member: Member, trace: Any, team: Team) -> None:
        member.trace = trace

    def on_finished(self, member: Member, finished: Any, team: Team) -> None:
        member.finished = finished

    def on_failed(self, member: Member, failed: Any, team: Team) -> None:
        """Ends the run with what a worker says about itself, unless another one's death explains it."""
        if self.blamed not in (None, member.rank):
            return
        killed = self.killed(member, team, LAST_WORDS_SECONDS if failed.kind == "TransportError" else 0.0)
        for rank, how in killed.items():
            raise WorkerFailed(self.blame(rank, f"died ({how}), last heard in {self.members[rank].place()}", team))
        said = failed.message.removeprefix(f"worker {member.rank}: ")
        kind = "" if failed.kind in PLAIN else f"{failed.kind}: "
        text = f"{place(failed.phase, failed.step, failed.doing)}: {kind}{said}"
        if failed.kind in TOLD:
            raise TOLD[failed.kind](f"{self.cluster.name(member.rank)}: {text}")
        if failed.kind == "Overdue":
            text += "".join(
                f"\n{self.cluster.name(m.rank)} was last heard in {m.place()}" for m in self.members if m is not member
            )
        raise WorkerFailed(self.blame(member.rank, text, team))

    @staticmethod
    def killed(member: Member, team: Team, seconds: float) -> dict[int, str]:
        """Who else was killed, and how. A peer may feel a death before it shows here: ``seconds`` are for that."""
        end = monotonic() + seconds
        while True:
            found = {rank: how for rank, how in team.dead().items() if rank != member.rank and "signal" in how}
            left = end - monotonic()
            if found or left <= 0 or not team.descriptors():
                return found
            select.select(team.descriptors(), [], [], left)

    def blame(self, rank: int, text: str, team: Team) -> str:
        """The message that ends the run: who, where, why, and the end of the worker's log."""
        tail = team.log_tail(rank)
        where = team.where(rank)
        return f"{self.cluster.name(rank)}{f' ({where})' if where else ''}: {text}" + (
            f"\nlast lines of its log:\n{tail}" if tail else ""
        )

    def interrupted(self) -> str:
        """What a person who pressed Ctrl-C wants to know."""
        step = max([m.beat.step for m in self.members], default=0)
        saved = self.saving.latest
        hint = f"; the latest checkpoint is {saved}, --resume goes on from it" if saved else "; no checkpoint was saved"
        return f"interrupted in step {step} of {self.partition.job.train_steps}{hint}"

    def stop(self, member: Member) -> None:
        if member.identity:
            self.send(member, ControlProto(stop=True))

    def send(self, member: Member, message: ControlProto) -> None:
        self.socket.send_multipart([member.identity, message.SerializeToString()])


def refuse_divergence(phase: str, step: int, metrics: dict[str, float]) -> None:
    """Raises NetpartError for a metric that is not a number: nothing that is trained after that is worth keeping."""
    for name, value in metrics.items():
        if not isfinite(value):
            hint = "lower updater.learning_rate.base_lr, or clip gradients with updater.clip_norm"
            raise NetpartError(f"{phase} step {step}: expected {name} to be a number, got {value}: it diverged; {hint}")
