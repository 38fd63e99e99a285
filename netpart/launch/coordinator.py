"""Coordinator: starts a team, hands out plans, watches, collects. It computes nothing and holds no parameter."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import zmq

from netpart.errors import NetpartError, WorkerFailed
from netpart.graph.partition import Partition
from netpart.graph.subgraph import encode
from netpart.launch.events import Listener, Measured, Saved, Started
from netpart.launch.metrics import MetricBook
from netpart.launch.saving import CheckpointBook, writers
from netpart.launch.team import Team
from netpart.proto.control_pb2 import BeatProto, ControlProto

SILENT_SECONDS = 3.5
"""A worker whose heartbeat thread says nothing for so long is stopped, or its host is gone."""
START_SECONDS = 60.0
LOOK_SECONDS = 0.25
PARTING_SECONDS = 10.0


@dataclass(frozen=True)
class Options:
    """How a run is run, beyond its job."""

    folder: Path
    workspace: Path
    seed: int
    device: str
    deadline: float
    report_every: int
    restore: Path | None = None
    first_step: int = 0


@dataclass
class Member:
    """What the coordinator knows about one worker."""

    identity: bytes = b""
    address: str | None = None
    heard: float = 0.0
    beat: BeatProto = field(default_factory=BeatProto)
    memory: int = 0
    device: str = ""
    finished: Any = None

    def place(self) -> str:
        """Where it was last heard."""
        return f"{self.beat.phase or 'start'} step {self.beat.step}, {self.beat.doing or 'starting'}"


class Coordinator:
    """Runs ``partition`` on a team; ``listener`` hears of every event."""

    def __init__(self, partition: Partition, options: Options, context: zmq.Context[Any], listener: Listener) -> None:
        self.partition, self.options, self.listener = partition, options, listener
        self.token, self.run_id = secrets.token_bytes(16), secrets.token_bytes(8)
        self.members = [Member() for _ in range(partition.workers)]
        self.socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 1000)
        self.metrics = MetricBook(partition)
        self.saving = CheckpointBook(partition, options.workspace / "checkpoint")
        self.started = self.looked = monotonic()
        self.going = False

    def run(self, team: Team, address: str) -> list[Member]:
        """Starts the team and serves it until every worker has finished; returns what each said at the end.

        Raises WorkerFailed for a worker that died, hung or raised, with the end of its log.
        """
        self.socket.bind(address)
        try:
            with team:
                team.start(self.socket.getsockopt_string(zmq.LAST_ENDPOINT), self.token)
                try:
                    self.serve(team)
                finally:
                    self.stop_all()
                team.join(PARTING_SECONDS)
        finally:
            self.saving.abandon()
            self.socket.close()
        return self.members

    def serve(self, team: Team) -> None:
        poller = zmq.Poller()
        for source in [self.socket, *team.descriptors()]:
            poller.register(source, zmq.POLLIN)
        self.started = self.looked = monotonic()
        while not all(m.finished for m in self.members):
            poller.poll(LOOK_SECONDS * 1000)
            self.read_all(team)
            self.check(team)

    def read_all(self, team: Team) -> None:
        while self.socket.poll(0):
            identity, *frames = self.socket.recv_multipart()
            try:
                message = ControlProto.FromString(frames[0])
            except Exception:  # a stranger's bytes: not of this run
                continue
            self.handle(identity, message, team)

    def handle(self, identity: bytes, message: ControlProto, team: Team) -> None:
        kind = message.WhichOneof("message")
        if kind == "hello":
            if message.hello.token == self.token and 0 <= message.hello.rank < len(self.members):
                self.welcome(identity, message.hello.rank)
            return
        if kind is None or kind in ("welcome", "go", "stop", "checkpoint_open"):
            return
        rank = getattr(message, kind).rank
        if not 0 <= rank < len(self.members):
            return
        self.members[rank].heard = monotonic()
        getattr(self, f"on_{kind}")(rank, message, team)

    def welcome(self, identity: bytes, rank: int) -> None:
        member, options = self.members[rank], self.options
        member.identity, member.heard = identity, monotonic()
        message = ControlProto()
        w = message.welcome
        w.plan, w.run_id, w.folder = encode(self.partition, rank), self.run_id, str(options.folder)
        w.seed, w.device, w.deadline = options.seed, options.device, options.deadline
        w.restore, w.first_step = str(options.restore or ""), options.first_step
        w.writes.extend(writers(self.partition)[rank])
        w.report_every = options.report_every
        self.send(rank, message)

    def on_ready(self, rank: int, message: ControlProto, team: Team) -> None:
        member = self.members[rank]
        member.address, member.memory, member.device = message.ready.address, message.ready.memory_bytes, message.ready.device
        if any(m.address is None for m in self.members):
            return
        go = ControlProto()
        go.go.SetInParent()
        for r, m in enumerate(self.members):
            go.go.address.add(rank=r, address=m.address)
        job, graph = self.partition.job, self.partition.graph
        self.listener(
            Started(
                graph.net.name, len(self.members), job.train_steps, self.options.first_step, self.metrics.rows("train"),
                tuple(m.device for m in self.members), tuple(m.memory for m in self.members),
            )
        )  # fmt: skip
        self.started = monotonic()
        for r in range(len(self.members)):
            self.send(r, go)

    def on_beat(self, rank: int, message: ControlProto, team: Team) -> None:
        self.members[rank].beat = message.beat

    def on_report(self, rank: int, message: ControlProto, team: Team) -> None:
        done = self.metrics.add(message.report, len(self.members))
        if done is not None:
            values, rate = done
            report = message.report
            seconds = monotonic() - self.started
            self.listener(Measured(report.phase, report.step, values, seconds, rate))

    def on_checkpoint_due(self, rank: int, message: ControlProto, team: Team) -> None:
        answer = ControlProto()
        path, updater_path = self.saving.open(message.checkpoint_due.step)
        answer.checkpoint_open.step, answer.checkpoint_open.path = message.checkpoint_due.step, str(path)
        answer.checkpoint_open.updater_path = str(updater_path or "")
        self.send(rank, answer)

    def on_checkpoint_written(self, rank: int, message: ControlProto, team: Team) -> None:
        path = self.saving.written(message.checkpoint_written.step, rank)
        if path is not None:
            self.listener(Saved(message.checkpoint_written.step, path))

    def on_finished(self, rank: int, message: ControlProto, team: Team) -> None:
        self.members[rank].finished = message.finished

    def on_failed(self, rank: int, message: ControlProto, team: Team) -> None:
        f = message.failed
        where = f"{f.phase} step {f.step}, {f.doing}" if f.phase != "start" else "before step 0"
        kind = "" if f.kind in ("WorkerFailed", "MemoryRefused", "ConfigError", "DataError") else f"{f.kind}: "
        raise self.blame(rank, f"{where}: {kind}{f.message}", team)

    def check(self, team: Team) -> None:
        """Raises WorkerFailed for a worker that has died or fallen silent, or did not come in time."""
        now = monotonic()
        if now - self.looked > SILENT_SECONDS / 2:  # this process itself was stopped: nobody else is to blame
            for m in self.members:
                m.heard = now
        self.looked = now
        for rank, how in team.dead().items():
            if not self.members[rank].finished:
                self.read_all(team)  # its last words say more than its exit code
                raise self.blame(rank, f"died ({how}) in {self.members[rank].place()}", team)
        for rank, m in enumerate(self.members):
            if m.identity and not m.finished and now - m.heard > SILENT_SECONDS:
                text = f"not heard for {now - m.heard:.1f} s (stopped, or its link is lost), last in {m.place()}"
                raise self.blame(rank, text, team)
            if not m.identity and now - self.started > START_SECONDS:
                raise self.blame(rank, f"did not start within {START_SECONDS:g} s", team)

    def blame(self, rank: int, text: str, team: Team) -> NetpartError:
        tail = team.log_tail(rank)
        log = f"\nlast lines of its log:\n{tail}" if tail else ""
        return WorkerFailed(f"worker {rank}: {text}{log}")

    def send(self, rank: int, message: ControlProto) -> None:
        self.socket.send_multipart([self.members[rank].identity, message.SerializeToString()])

    def stop_all(self) -> None:
        message = ControlProto(stop=True)
        for rank, m in enumerate(self.members):
            if m.identity:
                self.send(rank, message)
