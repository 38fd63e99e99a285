"""Runs of a job: partition the net, launch the workers, collect their reports, build the Summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import latest_checkpoint, parse_step, remove_partial_files, updater_file
from netpart.choices import AUTO, JOIN, LOCAL, LOCAL_LAUNCHERS, MPI, RAY
from netpart.errors import ConfigError, DataError
from netpart.families import LAUNCHERS, LISTENERS
from netpart.graph.partition import Partition
from netpart.graph.ready import check_training_run
from netpart.graph.server_pieces import add_job_servers
from netpart.launch.control.cores import oversubscription_warning, requested_threads
from netpart.launch.control.framing import refuse_garbled
from netpart.launch.control.nccl_choice import settle_collectives
from netpart.launch.control.placement import PLACEMENT, ClusterPlacement
from netpart.launch.control.process_limits import check_process_limits
from netpart.launch.control.seal_choice import choose_seal
from netpart.launch.control.signals import interrupt_on_signals
from netpart.launch.control.transport_choice import choose_transport
from netpart.launch.control.worker_devices import assign_devices, requested_places, resolve_devices
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.coordinator import Coordinator
from netpart.launch.coordinator.summary import summarise_run
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Ended, Listener, Noticed, Summary
from netpart.launch.report.queued_listener import QueuedListener
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.run_record import RunRecord
from netpart.launch.report.workspace import choose_workspace
from netpart.launch.teams.meeting import Meeting
from netpart.launch.teams.team import Team, TeamPlan
from netpart.plan.partition import partition_by_scheme
from netpart.program.kernel_choice import record_kernel_choice
from netpart.progress import report_progress
from netpart.proto.cluster import cluster_of
from netpart.proto.limits import EXTENT
from netpart.updaters import AVERAGE
from netpart.worker.initial_values import check_start, named_checkpoint, open_named_checkpoint, restored_names

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

REPORT_EVERY = 20
"""Default number of steps between two reports, for a job that does not set ``disp_freq``."""


def run_job(
    job: Job, workers: int | None = None, *, launcher: str = "local", listener: Listener | None = None,
    workspace: Path | None = None, meeting: Meeting | None = None, hosts: Path | None = None,
    transport: str = "auto", listeners: Sequence[str] = (), seal: str = "auto",
    placement: ClusterPlacement | None = None,
) -> Summary:  # fmt: skip
    """Train, validate, test and save ``job`` on ``workers`` workers per group; return the Summary.

    ``launcher``: "local" starts one process per worker on this host. "threads" runs the workers in this process. "join"
    waits at ``meeting`` for workers of other hosts. "mpi" lets mpiexec start the workers, on this host or on the hosts
    of the host file ``hosts``; they connect to this host at ``meeting`` (default: the address from which packets to
    them leave). "ray" lets a Ray cluster start the workers on the nodes that ``placement`` asks for. ``transport``: how
    processes of one host exchange tensors: "shm", "zeromq", or "auto", which uses shared memory where possible.
    ``seal``: which links are sealed: "auto" those that leave loopback, "yes" all that go through a socket, "no" none.
    ``listener`` receives every event. So do the listeners of
    ``netpart.families.LISTENERS`` that ``listeners`` names. ``workspace`` (default: the job's, or out/NAME) receives
    checkpoints, metrics.jsonl and logs.

    Raises ConfigError for a job that cannot be built or trains nothing, and for options that do not fit together;
    DataError for the job's data; MemoryRefused if a worker may not have the memory that it needs; ProgramRefused for
    workers that would deadlock; WorkerFailed when a worker fails; TrainingDiverged; and SignalInterrupt (a
    KeyboardInterrupt), with the step, for a signal that would end this process.
    """
    choice = LaunchChoice(launcher, transport, meeting, hosts, tuple(listeners), seal, placement)
    count = job.worker_count if workers is None else workers
    choice.check(cluster_of(job.proto, count).size)
    cut = add_job_servers(partition_by_scheme(job.proto, count, job.folder))
    options = make_run_options(job, workspace)
    check_training_run(cut, restored_names(options.restore))
    check_start(cut, options.restore, options.averages)
    return play_partition(cut, options, choice, listener, bool(job.proto.resume), job)


@dataclass(frozen=True)
class LaunchChoice:
    """How a run is launched: the arguments of ``run_job`` with these names."""

    launcher: str = LOCAL
    transport: str = AUTO
    meeting: Meeting | None = None
    hosts: Path | None = None
    listeners: tuple[str, ...] = ()
    seal: str = AUTO
    placement: ClusterPlacement | None = None

    def check(self, size: int) -> None:
        """Raise ConfigError, or NetpartError, if a run with ``size`` members cannot be launched so."""
        _check_launcher(self)
        for text in self.listeners:
            LISTENERS.get(text.partition("=")[0], who="--listener")
        # Checked before the first socket is created: ZeroMQ aborts the process when it runs out of file descriptors.
        check_process_limits(size)
        if self.launcher in LOCAL_LAUNCHERS:
            oversubscription_warning(size)


def play_partition(
    cut: Partition, options: RunOptions, choice: LaunchChoice, listener: Listener | None, resumed: bool = False,
    job: Job | None = None,
) -> Summary:  # fmt: skip
    """Launch the workers of ``cut``, serve them to the end and return the Summary.

    ``resumed``: metrics.jsonl continues an earlier run. ``job`` is for listeners. Raises what ``run_job`` raises.
    """
    options = settle_choices(cut, options, choice.launcher, choice.transport, choice.seal)
    record = RunRecord(options.workspace, listener, options.first_step, resumed)
    try:
        # RunRecord holds the workspace's lock by now, so no other run is still writing the partial files removed here.
        remove_partial_files(options.workspace / "checkpoint")
        began = time.monotonic()
        with ExitStack() as stack:
            for text in choice.listeners:
                _open_listener(stack, _queue_listener(text, cut, options, record, job), record)
            options = replace(options, watched=bool(record.watchers))
            members = lead_workers(cut, options, choice, record)
            seconds = time.monotonic() - began
            record.refuse_removal()
            with refuse_garbled("finished", "a worker "):
                summary = summarise_run(cut, options, members, record, seconds)
            record.hear(Ended(summary))
        return summary
    finally:
        record.close()


def _open_listener(stack: ExitStack, queued: QueuedListener, record: RunRecord) -> None:
    """Open a listener until ``stack`` ends, and let ``record`` pass events on to it."""
    record.listeners.append(stack.enter_context(queued))
    if queued.watches:
        record.watchers.append(queued.hear)


def _queue_listener(
    text: str, cut: Partition, options: RunOptions, record: RunRecord, job: Job | None
) -> QueuedListener:  # fmt: skip
    """The listener that ``text``, NAME or NAME=TEXT, names. Its troubles are notices of the run."""
    name, _, argument = text.partition("=")
    run = RunDescription(cut, options.workspace, options.first_step, argument, record.tell_user, job)
    return QueuedListener(name, LISTENERS.get(name, who="--listener"), run, lambda said: record.hear(Noticed(said)))


def settle_choices(cut: Partition, options: RunOptions, launcher: str, transport: str, seal: str = AUTO) -> RunOptions:
    """Replace every "auto" of a run: kernels, transport, sealing and collectives; return ``options`` with the choices.

    Kernels and collectives are also written into ``cut.job``, which every worker receives with its plan. So this must
    come before the workers start. Raises ConfigError for a transport that the run cannot have or seal.
    """
    kernels = str(record_kernel_choice(cut.job))
    places = _local_devices(options, cut, launcher)
    chosen = choose_transport(transport, launcher, places)
    settle_collectives(cut, places)
    return replace(options, kernels=kernels, transport=chosen, seal=choose_seal(seal, chosen, launcher))


def _check_launcher(choice: LaunchChoice) -> None:
    """Raise ConfigError for an unknown launcher, and for a meeting, host file or placement that is missing or has no
    use."""
    launcher, meeting = choice.launcher, choice.meeting
    LAUNCHERS.get(launcher, who="--launcher")
    if choice.hosts is not None and launcher != MPI:
        raise ConfigError("--hosts", "--launcher mpi", launcher, "omit one of them; see docs/mpi.md")
    if launcher == MPI and meeting is not None and choice.hosts is None:
        raise ConfigError("--listen", "--hosts with --launcher mpi", "none", "name a host file; see docs/mpi.md")
    if choice.placement is not None and launcher != RAY:
        raise ConfigError("--place", "--launcher ray", launcher, "omit one of them; see docs/clusters.md")
    if launcher in (*LOCAL_LAUNCHERS, JOIN, RAY) and (launcher == JOIN) != (meeting is not None):
        got = "none" if meeting is None else "one"
        raise ConfigError(f"--launcher {launcher}", "a meeting with join, and only with it", got, "see docs/hosts.md")


def lead_workers(
    partition: Partition, options: RunOptions, choice: LaunchChoice, record: RunRecord
) -> list[MemberRecord]:
    """Start the workers and serve them to the end of the job; return the final record of each worker."""
    report_progress("starting the workers")
    context: zmq.Context[Any] = zmq.Context()
    plan = _team_plan(partition, options, choice, context, lambda text: record.hear(Noticed(text)))
    team: Team | None = None
    token = choice.meeting.token if choice.meeting else None
    try:
        team = LAUNCHERS.get(choice.launcher)(plan)
        with team:  # the address alone may have opened something: a connection to a cluster
            address = team.control_address()  # before the coordinator has a socket, for which term would wait
            with interrupt_on_signals():
                return Coordinator(partition, options, context, record.hear, token).run(team, address)
    finally:
        # ``term`` blocks until every socket of the context is closed. A worker thread that still runs (ThreadTeam
        # cannot kill it) holds sockets open, so the context is then left to the end of the process.
        if team is None or not team.running():
            context.term()


def _team_plan(
    partition: Partition, options: RunOptions, choice: LaunchChoice, context: zmq.Context[Any],
    say: Callable[[str], None],
) -> TeamPlan:  # fmt: skip
    """What the launcher is asked to start."""
    threads = requested_threads(partition.job)
    placement = choice.placement or PLACEMENT
    return TeamPlan(
        partition.cluster.size, options.workspace, context, threads, choice.meeting, choice.hosts, placement,
        partition, options.folder, say, options.seal,
    )  # fmt: skip


def make_run_options(job: Job, workspace: Path | None) -> RunOptions:
    """Resolve the workspace, the checkpoint to start from, and the first step."""
    proto = job.proto
    folder = choose_workspace(job, workspace)
    restore, first = find_start_checkpoint(proto, folder / "checkpoint")
    every = proto.disp_freq or REPORT_EVERY
    resumed = bool(proto.resume and restore is not None and restore == latest_checkpoint(folder / "checkpoint"))
    # Only a new run starts from averages. A resumed run continues from its own parameters, or it would not be the same
    # run.
    averages = proto.updater.ema_start and not resumed
    if averages:
        check_averages(restore)
    return RunOptions(
        job.folder,
        folder,
        proto.seed,
        ",".join(requested_places(proto)),
        proto.deadline,
        every,
        restore,
        first,
        resumed,
        averages=averages,
    )


def _local_devices(options: RunOptions, partition: Partition, launcher: str) -> list[str]:
    """The device of each rank if all ranks are processes of this host. Empty otherwise: other hosts' GPUs are not known
    here."""
    return resolve_devices(assign_devices(options.device.split(","), partition.cluster)) if launcher == LOCAL else []


def check_averages(restore: Path | None) -> None:
    """Raise ConfigError without a checkpoint to start from, DataError for a checkpoint without averages of
    parameters."""
    if restore is None:
        where = ("updater", "ema_start")
        raise ConfigError(".".join(where), "a checkpoint to start from", "none", "add checkpoint_path", at=where)
    with open_checkpoint(updater_file(restore)) as saved:
        if not any(name.endswith(f".{AVERAGE}") for name in saved.tensors):
            some = ", ".join(sorted(saved.tensors)[:4])
            raise DataError(f"{saved.path}: expected averages, got {some}; train with updater.ema_decay to have them")


def find_start_checkpoint(proto: JobProto, checkpoints: Path) -> tuple[Path | None, int]:
    """The checkpoint to read, if any, and the first step to play. Raises DataError for an invalid checkpoint."""
    newest = latest_checkpoint(checkpoints) if proto.resume else None
    chosen = newest or named_checkpoint(proto)
    if chosen is None:
        return None, proto.step
    with open_checkpoint(chosen) if newest else open_named_checkpoint(proto, chosen) as saved:
        recorded = saved.metadata.get("step")
    return chosen, proto.step if newest is None else _resumed_step(proto, chosen, recorded)


def _resumed_step(proto: JobProto, path: Path, recorded: str | None) -> int:
    """The step of the checkpoint ``path`` from which a run resumes: the one in its file name.

    ``recorded`` is the step in its metadata, if any. Raises DataError if the two differ, ConfigError for a step after
    the job's last.
    """
    step = parse_step(path)
    end = proto.train_steps or EXTENT
    if recorded not in (None, str(step)):
        hint = "remove it, or name it in checkpoint_path instead"
        raise DataError(f"{path}: expected step {step} in its metadata, as in its name, got {recorded!r:.40}; {hint}")
    if step > end:
        hint = "use --steps for more, or `netpart evaluate` to test it"
        raise ConfigError(str(path), f"a step from 0 to {end}, where the job ends", str(step), hint)
    return step
