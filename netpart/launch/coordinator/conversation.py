"""Conversation: the coordinator's answer to each message of a worker, and what it records of them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from numpy.typing import NDArray

from netpart.checkpoint.steps import list_checkpoints, updater_file
from netpart.choices import RESULT, TRAIN
from netpart.errors import TrainingDiverged, WorkerFailed
from netpart.graph.partition import Partition
from netpart.graph.partition_codec import encode_partition
from netpart.graph.saved_holdings import assign_checkpoint_writes
from netpart.launch.control.communication_codec import decode_communications
from netpart.launch.control.framing import refuse_garbled
from netpart.launch.control.seal_choice import UNSEALED, SealChoice, describe_sealing, sealing_mistake, write_secret
from netpart.launch.control.worker_devices import assign_devices
from netpart.launch.control.written_ranges import unpack_written
from netpart.launch.coordinator.checkpoint_book import CheckpointBook
from netpart.launch.coordinator.checkpoint_relay import CheckpointRelay
from netpart.launch.coordinator.halt_book import HaltBook
from netpart.launch.coordinator.metric_book import MetricBook
from netpart.launch.coordinator.oversubscribed_hosts import find_oversubscribed_hosts
from netpart.launch.coordinator.refusal_book import RefusalBook
from netpart.launch.coordinator.result_book import ResultBook
from netpart.launch.coordinator.verdict_book import VerdictBook
from netpart.launch.coordinator.watch_book import WatchBook
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Hearer, Measured, Noticed, Saved, Started, Updated
from netpart.program.messages.communication import server_group_phase
from netpart.program.messages.deadlock_check import check_deadlocks
from netpart.proto.control_pb2 import CheckpointProto, ClockProto, ControlProto, RegionProto
from netpart.proto.job_pb2 import Collectives
from netpart.updaters import AVERAGE
from netpart.worker.server_player import AppliedUpdate

TakeValues = Callable[[int, NDArray[Any]], None]
"""Takes a mini-batch of a result layer: its number, and its values (rows, ...)."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, in addition to its job.

    ``resumed``: the run continues the run whose newest checkpoint is ``restore``. ``averages``: parameters start from
    the averages stored next to ``restore``. ``trace``: the run only trains, and every worker reports its actions with
    their times. ``kernels``: the kernels of the job, in words. ``take`` receives the values of the partition's result
    layer, if it has one. ``seal``: how links are sealed. ``kept`` are the checkpoints that this run has written before
    it was started again; None for those that a resumed run finds. ``repeats`` says whether the run starts again after
    an error; ``returns``: a coordinator that dies comes back.
    """

    folder: Path
    workspace: Path
    seed: int
    device: str
    deadline: float
    report_every: int
    restore: Path | None = None
    first_step: int = 0
    resumed: bool = False
    transport: str = "zeromq"
    averages: bool = False
    trace: bool = False
    kernels: str = ""
    take: TakeValues | None = None
    seal: SealChoice = UNSEALED
    kept: tuple[Path, ...] | None = None
    repeats: Callable[[Exception], bool] = lambda error: False
    returns: bool = False
    watched: bool = False


class Conversation:
    """Exchange of messages with ``members`` through ``send``; ``listener`` receives every event.

    ``answer`` sends to the socket of the given name: a worker writes its checkpoints through one of their own.
    ``moved`` is when any member last made progress. ``team`` is the number of the team: 0 but for an elastic run that
    was cut anew.
    """

    def __init__(
        self, partition: Partition, options: RunOptions, members: list[MemberRecord], listener: Hearer,
        send: Callable[[MemberRecord, ControlProto], None], answer: Callable[[bytes, ControlProto], None],
        team: int = 0,
    ) -> None:  # fmt: skip
        self.partition = partition
        self.options = options
        self.listener = listener
        self.cluster = partition.cluster
        self.members = members
        self.send = send
        self.answer = answer
        self.metrics = MetricBook(partition)
        folder = options.workspace / "checkpoint"
        found = list_checkpoints(folder) if options.resumed else []
        earlier = found if options.kept is None else options.kept
        trains = TRAIN in partition.phases and not options.trace
        resumed, untrained = (options.restore if options.resumed else None), options.first_step
        self.verdicts = VerdictBook(
            partition, resumed, not trains, untrained if options.restore is None and partition.job.train_steps else None
        )
        self.halting = HaltBook(members, partition.job.train_steps, send, listener)
        self.saving = CheckpointBook(partition, folder, earlier, options.restore, self.verdicts.metadata)
        restored = [p for p in (options.restore, options.restore and updater_file(options.restore)) if p]
        self.relay = CheckpointRelay(self.saving, {str(p) for p in restored if os.path.exists(p)})
        self.results = ResultBook(partition) if options.take is not None else None
        self.started = self.moved = monotonic()
        self.run_id = secrets.token_bytes(8)
        self.team = team
        self.secret = options.seal.draw_secret(self.run_id, team)
        self.watching: WatchBook | None = None
        if options.watched and trains:
            self.watching = WatchBook(partition, options.first_step, members, send, listener)
        self.refusals = RefusalBook(self.cluster, lambda text: listener(Noticed(text)))

    def hear(self, member: MemberRecord, kind: str, said: Any) -> None:
        """Handle a message of ``kind`` from a welcomed worker. A message without a handler is dropped."""
        handler: Callable[[MemberRecord, Any], None] | None = getattr(self, f"on_{kind}", None)
        # A heartbeat alone is no progress; ``on_beat`` compares its contents.
        if kind != "beat":
            self.moved = member.heard
        if handler is not None:
            handler(member, said)

    def welcome(self, member: MemberRecord) -> None:
        """Send a worker its plan and the options of the run."""
        self.send(member, self.make_welcome(member))

    def make_welcome(self, member: MemberRecord) -> ControlProto:
        """The plan of a worker and the options of the run."""
        options = self.options
        message = ControlProto()
        w = message.welcome
        number = self.cluster.number_in_group(member.rank)
        w.plan = encode_partition(self.partition, number)
        w.run_id = self.run_id
        write_secret(w, self.secret)
        w.folder = str(options.folder)
        w.device = ",".join(assign_devices(options.device.split(","), self.cluster))
        w.seed = options.seed
        w.deadline = options.deadline
        w.restore = str(options.restore or "")
        w.first_step = options.first_step
        state_file = updater_file(options.restore) if options.restore else None
        if state_file is not None and options.averages:
            w.restore = str(state_file)
            w.restore_suffix = f".{AVERAGE}"
        elif state_file is not None and str(state_file) in self.relay.sources:
            w.restore_updater = str(state_file)
        if member.rank in self.cluster.checkpoint_ranks:
            w.writes.extend(assign_checkpoint_writes(self.partition)[number])
        w.report_every = options.report_every
        w.transport = options.transport
        w.workers = len(self.members)
        w.rank = member.rank
        w.trace = options.trace
        w.returns = options.returns
        w.watched = self.watching is not None
        w.judged.extend(self.verdicts.phases)
        if self.verdicts.base_lr is not None:
            w.base_lr = self.verdicts.base_lr
        return message

    def on_ready(self, member: MemberRecord, ready: Any) -> None:
        if mistake := sealing_mistake(self.secret, ready.address, ready.seal):
            raise WorkerFailed(f"{self.cluster.name(member.rank)}: {mistake}")
        member.address = ready.address
        member.memory = ready.memory_bytes
        member.device = ready.device
        with refuse_garbled("ready"):
            member.communications = decode_communications(ready.spoken)
            member.threads = ready.threads
        member.host = ready.host
        member.regions = ready.region_address
        member.cores = frozenset(ready.core)
        member.communicators = list(ready.communicator)
        # Only the last worker to become ready gets past this line: the check and ``go`` need the data of all.
        if any(m.address is None for m in self.members):
            return
        with refuse_garbled("ready"):
            self.check_for_deadlock()
        go = ControlProto()
        go.go.SetInParent()
        for m in self.members:
            go.go.address.add(rank=m.rank, address=m.address)
            go.go.communicator.extend(m.communicators)
        self.started = self.metrics.last = monotonic()
        self.send_go(go)
        self.tell_start()

    def tell_start(self) -> None:
        """Report that all workers are ready."""
        self.listener(
            Started(
                self.partition.graph.net.name, len(self.members), self.partition.job.train_steps,
                self.options.first_step, self.metrics.rows(self.partition.main_phase),
                tuple(m.device for m in self.members), tuple(m.memory for m in self.members),
                self.options.transport, self.options.kernels, tuple(m.threads for m in self.members),
                str(self.cluster) if len(self.members) > self.cluster.workers else "",
                find_oversubscribed_hosts(self.members), self.partition.idle_workers, self.partition.main_phase,
                describe_sealing(self.secret, [m.address or "" for m in self.members], [m.host for m in self.members]),
            )
        )  # fmt: skip

    def send_go(self, go: ControlProto) -> None:
        """Send ``go`` to each worker."""
        for m in self.members:
            self.send(m, go)

    def check_for_deadlock(self) -> None:
        """Check before the first step that what the workers of each group, and the servers, have compiled cannot
        deadlock.

        Raises ProgramRefused.
        """
        for group in range(self.cluster.groups):
            announced = [self.members[rank].communications for rank in self.cluster.ranks(group)]
            for number in range(self.cluster.workers, len(announced)):
                announced[number] = {"train": announced[number][server_group_phase(group)]}
            check_deadlocks(announced, together=self.partition.job.collectives == Collectives.NCCL)
        for m in self.members:
            # These lists are large, and nothing needs them after the check.
            m.communications = {}

    def on_beat(self, member: MemberRecord, beat: Any) -> None:
        if (beat.phase, beat.step, beat.doing) != (member.beat.phase, member.beat.step, member.beat.doing):
            self.moved = member.heard
        member.beat = beat
        self.refusals.note(member.rank, beat.refused)
        if self.watching is not None:
            self.watching.hear_beat()

    def on_updates(self, member: MemberRecord, updates: Any) -> None:
        numbers = list(updates.number)
        with refuse_garbled("updates"):
            applied = [AppliedUpdate(*numbers[at : at + 4]) for at in range(0, len(numbers), 4)]
        for update in applied:
            self.listener(Updated(member.rank, update))

    def on_report(self, member: MemberRecord, report: Any) -> None:
        with refuse_garbled("report"):
            done = self.metrics.add(report, self.cluster.workers)
        if done is not None:
            _refuse_diverged_metrics(report.phase, report.step, done.metrics)
            seconds = monotonic() - self.started
            self.listener(
                Measured(
                    report.phase,
                    report.step,
                    done.metrics,
                    seconds,
                    done.samples_per_second,
                    done.tables,
                    self.metrics.epoch(report.step),
                )
            )
            self.judge(report.phase, report.step, done.metrics)

    def judge(self, phase: str, step: int, metrics: dict[str, float]) -> None:
        """Send every worker the verdict about ``metrics``, if they are judged."""
        verdict = self.verdicts.judge(phase, step, metrics)
        if verdict is not None:
            for m in self.members:
                self.send(m, ControlProto(verdict=verdict.message))
            for event in verdict.events:
                self.listener(event)

    def on_checkpoint_due(self, member: MemberRecord, due: Any) -> None:
        path, updater_path = self.saving.open(due.step, due.best)
        if due.announced:
            return  # the files are open now, with the notes of this moment
        answer = ControlProto()
        answer.checkpoint_open.step = due.step
        answer.checkpoint_open.path = str(path.absolute())
        answer.checkpoint_open.updater_path = str(updater_path.absolute()) if updater_path else ""
        self.answer(member.asker, answer)

    def on_checkpoint_written(self, member: MemberRecord, written: Any) -> None:
        with refuse_garbled("checkpoint_written"):
            self.saving.note_written(written.step, written.best, unpack_written(written))
        path = self.saving.written(written.step, member.rank, written.best, self.confirmation(member, written.step))
        if path is not None:
            self.listener(Saved(written.step, path, written.best))

    def confirmation(self, member: MemberRecord, step: int) -> Callable[[], None]:
        """What informs ``member``, at the socket that it now uses, that the checkpoint of ``step`` is in place."""
        asker, message = member.asker, ControlProto(checkpoint_written=CheckpointProto(step=step))
        return lambda: self.answer(asker, message)

    def on_halt(self, member: MemberRecord, halt: Any) -> None:
        if self.verdicts.stopped is not None:
            return  # all workers end before they come to a step that could be proposed
        with refuse_garbled("halt"):
            self.halting.hear(member, halt)

    def on_region_write(self, member: MemberRecord, region: Any) -> None:
        with refuse_garbled("region_write"):
            is_result = self.results is not None and region.path == RESULT
            done = self.results.add(region) if self.results is not None and is_result else None
            answer = RegionProto() if is_result else self.relay.write(region)
        # Outside of the block above: an error of the taker is no fault of the worker.
        if done is not None and self.options.take is not None:
            self.options.take(*done)
        self.answer(member.asker, ControlProto(region=answer))

    def on_region_read(self, member: MemberRecord, region: Any) -> None:
        with refuse_garbled("region_read"):
            answer = self.relay.read(region)
        self.answer(member.asker, ControlProto(region=answer))

    def on_clock(self, member: MemberRecord, clock: Any) -> None:
        self.send(member, ControlProto(clock=ClockProto(seconds=perf_counter())))

    def on_trace(self, member: MemberRecord, trace: Any) -> None:
        if self.watching is None:
            member.trace = trace
        else:
            self.watching.take(member, trace)

    def on_finished(self, member: MemberRecord, finished: Any) -> None:
        member.finished = finished
        self.refusals.note(member.rank, finished.refused, last=True)


def _refuse_diverged_metrics(phase: str, step: int, metrics: dict[str, float]) -> None:
    """Raise TrainingDiverged for a metric that is not finite."""
    for name, value in metrics.items():
        if not isfinite(value):
            raise TrainingDiverged(f"{phase} step {step}", f"{name} to be a number", str(value))
