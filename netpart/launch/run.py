"""Runs a job: partitions it, launches its workers, collects what they say, sums up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import latest
from netpart.errors import ConfigError, DataError, NetpartError
from netpart.graph.partition import Partition, partition_job
from netpart.launch.coordinator import Coordinator, Member, Options
from netpart.launch.events import Event, Listener, Measured, Saved, Summary
from netpart.launch.processes import ProcessTeam
from netpart.launch.team import Team
from netpart.launch.threads import ThreadTeam
from netpart.plan.ledger import ledger

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

LAUNCHERS = ("local", "threads")
DEVICES = ("auto", "cpu", "cuda")


def default_workers(job: JobProto) -> int:
    """What the job asks for: ``cluster.nworkers_per_group``, or as many as its locations name."""
    if job.cluster.HasField("nworkers_per_group"):
        return job.cluster.nworkers_per_group
    named = [w for layer in job.neuralnet.layer for w in layer.location]
    named += [w for layer in job.neuralnet.layer for cut in layer.cut for w in cut.location]
    return max(named, default=0) + 1


def run(
    job: Job, workers: int | None = None, *, launcher: str = "local", listener: Listener | None = None,
    workspace: Path | None = None,
) -> Summary:  # fmt: skip
    """Trains, validates, tests and saves ``job`` on ``workers`` workers; returns the Summary.

    ``launcher``: "local" starts a process per worker on this host, "threads" runs them in this process.
    ``workspace`` (default: the job's, or out/NAME) gets checkpoints, metrics.jsonl and logs.
    Raises ConfigError for a job that cannot be built, DataError for its data, WorkerFailed when a worker fails.
    """
    proto = job.proto
    if launcher not in LAUNCHERS:
        raise NetpartError(f"launcher: expected one of {', '.join(LAUNCHERS)}, got {launcher!r}")
    partition = partition_job(proto, workers or default_workers(proto), job.folder)
    check_data(partition)
    options = make_options(job, workspace)
    notes = Notes(options.workspace, listener)
    began = time.monotonic()
    context: zmq.Context[Any] = zmq.Context()
    try:
        coordinator = Coordinator(partition, options, context, notes.hear)
        team: Team = ThreadTeam(partition.workers, context)
        if launcher == "local":
            team = ProcessTeam(partition.workers, options.workspace / "log")
        members = coordinator.run(team, control_address(launcher))
    finally:
        context.destroy(linger=1000)
        notes.close()
    return summarise(partition, options, members, notes, time.monotonic() - began)


def control_address(launcher: str) -> str:
    """Where the coordinator listens: nothing on disk, nothing beyond this host."""
    import secrets

    name = f"netpart-control-{secrets.token_hex(8)}"
    return f"inproc://{name}" if launcher == "threads" else f"ipc://@{name}"


def check_data(partition: Partition) -> None:
    """Opens what every input layer will read, so that missing or broken data is told before anything starts."""
    for micros in partition.phases.values():
        for node in micros[0].graph.net.nodes:
            try:
                node.layer.check_data()
            except ConfigError as error:
                error.at = node.at + (error.at or ())
                raise
            except DataError as error:
                raise DataError(f"{node.name}: {error}") from error


def make_options(job: Job, workspace: Path | None) -> Options:
    """Resolves workspace, checkpoint to start from and first step."""
    proto = job.proto
    folder = workspace or Path(proto.cluster.workspace or Path("out") / (proto.name or "net"))
    restore, first = None, proto.step
    if proto.resume:
        restore = latest(folder / "checkpoint")
    elif proto.checkpoint_path:
        restore = Path(proto.checkpoint_path[-1])
    if restore is not None:
        saved = open_checkpoint(restore)
        if proto.resume:
            first = int(saved.metadata.get("step", "0"))
        saved.close()
    device = DEVICES[proto.device]
    every = proto.disp_freq or 20
    return Options(job.folder, folder, proto.seed, device, proto.deadline, every, restore, first)


class Notes:
    """Keeps what the summary needs, writes metrics.jsonl, and passes every event on."""

    def __init__(self, workspace: Path, listener: Listener | None) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        self.file = open(workspace / "metrics.jsonl", "a", encoding="utf-8")  # noqa: SIM115 - closed by close
        self.listener: Callable[[Event], None] = listener or (lambda event: None)
        self.latest: dict[str, dict[str, float]] = {}
        self.checkpoint = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, Measured):
            self.latest[event.phase] = event.metrics
            self.file.write(json.dumps(asdict(event)) + "\n")
            self.file.flush()
        if isinstance(event, Saved):
            self.checkpoint = str(event.path)
        self.listener(event)

    def close(self) -> None:
        with suppress(OSError):
            self.file.close()


def summarise(partition: Partition, options: Options, members: list[Member], notes: Notes, seconds: float) -> Summary:
    """Puts the end of a run together."""
    job = partition.job
    steps = max(0, job.train_steps - options.first_step)
    train_seconds = max(m.finished.train_seconds for m in members)
    last = notes.latest.get("test") or notes.latest.get("train", {})
    counted = [(c.channel, c.bytes) for m in members for c in m.finished.count]
    return Summary(
        name=partition.graph.net.name,
        workers=partition.workers,
        steps=steps,
        loss=first_named(last, "loss"),
        accuracy=first_named(last, "accuracy"),
        seconds=seconds,
        train_seconds=train_seconds,
        samples_per_second=steps * partition.phases["train"][-1].rows[1] / train_seconds if train_seconds else 0.0,
        bytes_predicted=predicted_bytes(partition, options.first_step),
        bytes_counted=sum(n for _, n in counted),
        header_bytes=sum(m.finished.header_bytes for m in members),
        memory_bytes=[m.memory for m in members],
        devices=[m.device for m in members],
        train=notes.latest.get("train", {}),
        validation=notes.latest.get("val", {}),
        test=notes.latest.get("test", {}),
        checkpoint=notes.checkpoint,
        workspace=str(options.workspace),
    )


def predicted_bytes(partition: Partition, first_step: int) -> int:
    """Payload bytes of a whole run, from the graph alone."""
    return sum(
        batches * ledger(partition, phase).total for phase, batches in batch_counts(partition.job, first_step).items()
        if phase in partition.phases
    )  # fmt: skip


def batch_counts(job: JobProto, first_step: int) -> dict[str, int]:
    """Mini-batches that a run plays, by phase."""
    from netpart.launch.loop import due

    steps = range(first_step, job.train_steps)
    val = sum(due(s, job.validate_freq, job.validate_after) for s in steps) + 1
    test = sum(due(s, job.test_freq, job.test_after) for s in steps) + 1
    return {"train": len(steps), "val": val * job.validate_steps, "test": test * job.test_steps}


def first_named(metrics: dict[str, float], name: str) -> float | None:
    """The first metric ``layer/name``."""
    return next((value for key, value in metrics.items() if key.split("/")[-1] == name), None)
