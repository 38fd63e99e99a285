"""Runs of a job: partition the net, launch the workers, collect their reports, build the Summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import zmq

from netpart.checkpoint.steps import list_checkpoints, parse_step, remove_partial_files
from netpart.choices import AUTO, JOIN, LOCAL, LOCAL_LAUNCHERS, MPI, RAY
from netpart.errors import ConfigError
from netpart.families import LAUNCHERS, LISTENERS
from netpart.graph.partition import Partition
from netpart.graph.ready import check_training_run
from netpart.graph.server_pieces import add_job_servers
from netpart.launch.control.context_end import ENDING_SECONDS, end_context
from netpart.launch.control.cores import oversubscription_warning, requested_threads
from netpart.launch.control.elastic_choice import most_workers, refuse_inelastic
from netpart.launch.control.framing import refuse_garbled
from netpart.launch.control.nccl_choice import settle_collectives
from netpart.launch.control.placement import PLACEMENT, ClusterPlacement
from netpart.launch.control.process_limits import check_process_limits
from netpart.launch.control.seal_choice import choose_seal
from netpart.launch.control.secure_link import coordinator_keys
from netpart.launch.control.signals import interrupt_on_signals
from netpart.launch.control.transport_choice import choose_transport
from netpart.launch.control.worker_devices import assign_devices, resolve_devices
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.coordinator import Coordinator
from netpart.launch.coordinator.elastic_coordinator import ElasticCoordinator
from netpart.launch.coordinator.job_cutter import JobCutter
from netpart.launch.coordinator.summary import summarise_run
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Ended, Event, Listener, Noticed, Restarted, Summary
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.run_listeners import RunListeners
from netpart.launch.report.run_record import RunRecord
from netpart.launch.restarts import NO_RESTARTS, RestartBook, RestartChoice, check_restarts, next_meeting
from netpart.launch.run_options import make_run_options
from netpart.launch.teams.meeting import Meeting
from netpart.launch.teams.team import Team, TeamPlan
from netpart.plan.partition import partition_by_scheme
from netpart.program.kernel_choice import record_kernel_choice
from netpart.progress import report_progress
from netpart.proto.cluster import cluster_of, has_groups_or_servers
from netpart.worker.initial_values import check_start, restored_names

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

OPEN_SOCKETS = (
    f"coordinator: expected its sockets to close within {ENDING_SECONDS:.0f} s after the workers ended; they stay open "
    "until this process ends; the result of the run is complete"
)


def run_job(
    job: Job, workers: int | None = None, *, launcher: str = "local", listener: Listener | None = None,
    workspace: Path | None = None, meeting: Meeting | None = None, hosts: Path | None = None,
    transport: str = "auto", listeners: Sequence[str] = (), seal: str = "auto",
    placement: ClusterPlacement | None = None, respawn: bool = False, restarts: RestartChoice = NO_RESTARTS,
) -> Summary:  # fmt: skip
    """Train, validate, test and save ``job`` on ``workers`` workers per group; return the Summary.

    ``launcher``: "local" starts one process per worker on this host. "threads" runs the workers in this process. "join"
    waits at ``meeting`` for workers of other hosts. "mpi" lets mpiexec start the workers, on this host or on the hosts
    of the host file ``hosts``; they connect to this host at ``meeting`` (default: the address from which packets to
    them leave). "ray" lets a Ray cluster start the workers on the nodes that ``placement`` asks for. ``transport``: how
    processes of one host exchange tensors: "shm", "zeromq", or "auto", which uses shared memory where possible.
    ``seal``: which links are sealed: "auto" those that leave loopback, "yes" all that go through a socket, "no" none.
    ``respawn``: an elastic run starts a lost worker of this host again. ``listener`` receives every event. So do the
    listeners of
    ``netpart.families.LISTENERS`` that ``listeners`` names. ``workspace`` (default: the job's, or out/NAME) receives
    checkpoints, metrics.jsonl and logs. ``restarts``: how often the run starts again after a failure.

    Raises ConfigError for a job that cannot be built or trains nothing, and for options that do not fit together;
    DataError for the job's data; MemoryRefused if a worker may not have the memory that it needs; ProgramRefused for
    workers that would deadlock; WorkerFailed when a worker fails; TrainingDiverged; and SignalInterrupt (a
    KeyboardInterrupt), with the step, for a signal that would end this process.
    """
    choice = LaunchChoice(launcher, transport, meeting, hosts, tuple(listeners), seal, placement, respawn)
    count = job.worker_count if workers is None else workers
    choice.check(cluster_of(job.proto, count).size)
    refuse_inelastic(job.proto, count, launcher, respawn)
    check_restarts(restarts, launcher)
    return RestartableRun(job, count, choice, make_run_options(job, workspace), listener, restarts).play()


class RestartableRun:
    """The attempts of a run of ``job`` on ``workers`` workers: one, and another after each failure that ``restarts``
    repeats."""

    def __init__(
        self, job: Job, workers: int, choice: LaunchChoice, options: RunOptions, listener: Listener | None,
        restarts: RestartChoice,
    ) -> None:  # fmt: skip
        self.job = job
        self.workers = workers
        self.choice = choice if not restarts.limit else _with_kept_keys(choice)
        self.options = options
        self.listener = listener
        local = workers if choice.launcher == LOCAL else choice.meeting.local if choice.meeting else 0
        # A question is asked more than once, and each answer cuts the net.
        self.book = RestartBook(restarts, workers, local, cache(self.fits), _launch_patience(choice))
        if options.resumed and not self.book.state.saved:
            for path in list_checkpoints(options.workspace / "checkpoint"):
                self.book.note_saved(str(path))

    def play(self) -> Summary:
        """Play attempts until one succeeds; return its Summary. Raises what ``run_job`` raises."""
        with RunListeners(self.choice.listeners) as listeners:
            while True:
                try:
                    return self.attempt(listeners)
                except Exception as error:
                    if not self.book.repeats(error):
                        self.book.advise(error)
                        raise
                    self.book.take(error)

    def attempt(self, listeners: RunListeners) -> Summary:
        """Cut the net for the workers that there are, and play it from where the run may go on."""
        book = self.book
        proto, options = self.job.proto, self.options
        if book.newest is not None:
            proto = _resumed_job(proto)
            options = replace(
                options, restore=book.newest, first_step=parse_step(book.newest), resumed=True, averages=False,
                kept=tuple(map(Path, book.state.saved)),
            )  # fmt: skip
        cut = add_job_servers(partition_by_scheme(proto, book.state.workers, self.job.folder))
        check_training_run(cut, restored_names(options.restore))
        check_start(cut, options.restore, options.averages)
        options = replace(options, repeats=book.repeats, returns=self.returns)
        event = book.event(options.first_step) if book.state.made else None
        return play_partition(
            cut,
            options,
            self.next_choice(),
            self.hear,
            listeners,
            bool(proto.resume) or event is not None,
            event,
            self.job,
        )

    @property
    def returns(self) -> bool:
        """True if a coordinator that dies is started again, with the token that its workers know."""
        restarts, meeting = self.book.choice, self.choice.meeting
        return restarts.supervised and meeting is not None and meeting.token is not None

    def hear(self, event: Event) -> None:
        """Take an event for the next attempt, and for the listener."""
        self.book.hear(event)
        if self.listener is not None:
            self.listener(event)

    def fits(self, workers: int) -> bool:
        """True if the job can be cut for ``workers`` workers: its groups and servers, and its places, allow it."""
        if workers != self.workers and (workers < 1 or has_groups_or_servers(self.job.proto)):
            return False
        try:
            partition_by_scheme(self.job.proto, workers, self.job.folder)
        except ConfigError:
            return False
        return True

    def next_choice(self) -> LaunchChoice:
        """How the next attempt is launched."""
        choice, book = self.choice, self.book
        meeting = choice.meeting and next_meeting(choice.meeting, book)
        placement = choice.placement and choice.placement._replace(wait=book.seconds)
        return replace(choice, meeting=meeting, placement=placement)


def _resumed_job(proto: JobProto) -> JobProto:
    """A copy of the job of a run that continues from a checkpoint of its own."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    copy.resume = True
    return copy


def _launch_patience(choice: LaunchChoice) -> float:
    """How many seconds the launcher waits for workers of other hosts."""
    return choice.meeting.wait if choice.meeting else (choice.placement or PLACEMENT).wait


def _with_kept_keys(choice: LaunchChoice) -> LaunchChoice:
    """``choice`` with the coordinator's keys drawn now, so that the workers' token stays that of the run."""
    meeting = choice.meeting
    return (
        choice if meeting is None else replace(choice, meeting=replace(meeting, keys=coordinator_keys(meeting.token)))
    )


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
    respawn: bool = False

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
    cut: Partition, options: RunOptions, choice: LaunchChoice, listener: Listener | None, listeners: RunListeners,
    resumed: bool = False, restarted: Restarted | None = None, job: Job | None = None,
) -> Summary:  # fmt: skip
    """Launch the workers of ``cut``, serve them to the end and return the Summary.

    ``listener`` and ``listeners`` receive the events. ``resumed``: metrics.jsonl continues an earlier run.
    ``restarted``: this attempt follows one that failed. ``job`` is for listeners. Raises what ``run_job`` raises.
    """
    options = settle_choices(cut, options, choice.launcher, choice.transport, choice.seal)
    record = RunRecord(options.workspace, listener, options.first_step, resumed)
    try:
        # RunRecord holds the workspace's lock by now, so no other run is still writing the partial files removed here.
        remove_partial_files(options.workspace / "checkpoint")
        began = time.monotonic()
        described = partial(_describe_run, cut, options, record, restarted is not None, job)
        with listeners.attempt(record, described):
            options = replace(options, watched=bool(record.watchers))
            if restarted is not None:
                record.hear(restarted)
            led = lead_workers(cut, options, choice, record)
            seconds = time.monotonic() - began
            record.refuse_removal()
            with refuse_garbled("finished", "a worker "):
                summary = summarise_run(led.partition, led.options, led.members, record, seconds, options.first_step)
            record.hear(Ended(summary))
        return summary
    finally:
        record.close()


def _describe_run(
    cut: Partition, options: RunOptions, record: RunRecord, continues: bool, job: Job | None, argument: str
) -> RunDescription:
    """What a listener with this ``argument`` is told of the attempt."""
    return RunDescription(cut, options.workspace, options.first_step, argument, continues, record.tell_user, job)


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


class LedRun(NamedTuple):
    """A run at its end: its workers, and the cut and options of its last team. Those of a run that is not elastic are
    the first ones."""

    members: list[MemberRecord]
    partition: Partition
    options: RunOptions


def lead_workers(partition: Partition, options: RunOptions, choice: LaunchChoice, record: RunRecord) -> LedRun:
    """Start the workers and serve them to the end of the job; return the final record of each worker."""
    report_progress("starting the workers")
    context: zmq.Context[Any] = zmq.Context()
    plan = _team_plan(partition, options, choice, context, lambda text: record.hear(Noticed(text)))
    team: Team | None = None
    try:
        team = LAUNCHERS.get(choice.launcher)(plan)
        with team:  # the address alone may have opened something: a connection to a cluster
            address = team.control_address()  # before the coordinator has a socket, for which term would wait
            with interrupt_on_signals():
                coordinator = _make_coordinator(partition, options, choice, context, record)
                members = coordinator.run(team, address)
                return LedRun(members, coordinator.talk.partition, coordinator.options)
    finally:
        # ``term`` blocks until every socket of the context is closed. A worker thread that still runs (ThreadTeam
        # cannot kill it) holds sockets open, so the context is then left to the end of the process.
        if (team is None or not team.running()) and not end_context(context):
            record.hear(Noticed(OPEN_SOCKETS))


def _make_coordinator(
    partition: Partition, options: RunOptions, choice: LaunchChoice, context: zmq.Context[Any], record: RunRecord
) -> Coordinator:
    """The coordinator of the run: an elastic one, if its job is and it trains."""
    token, keys = (choice.meeting.token, choice.meeting.keys) if choice.meeting else (None, None)
    job = partition.job
    if not job.HasField("elastic") or options.trace:
        return Coordinator(partition, options, context, record.hear, token, keys)
    cutter = JobCutter(job, partition.workers, options.folder, partial(_settle_cut, options, choice))
    cutter.keep(partition)
    return ElasticCoordinator(partition, options, context, record.hear, token, keys, cutter, choice.respawn)


def _settle_cut(options: RunOptions, choice: LaunchChoice, cut: Partition) -> None:
    """Replace every "auto" of a new cut of an elastic run."""
    record_kernel_choice(cut.job)
    settle_collectives(cut, _local_devices(options, cut, choice.launcher))


def _team_plan(
    partition: Partition, options: RunOptions, choice: LaunchChoice, context: zmq.Context[Any],
    say: Callable[[str], None],
) -> TeamPlan:  # fmt: skip
    """What the launcher is asked to start."""
    threads = requested_threads(partition.job)
    most = most_workers(partition.job, partition.workers) if partition.job.HasField("elastic") else 0
    placement = choice.placement or PLACEMENT
    return TeamPlan(
        partition.cluster.size, options.workspace, context, threads, choice.meeting, choice.hosts, placement,
        partition, options.folder, say, options.seal, most,
    )  # fmt: skip


def _local_devices(options: RunOptions, partition: Partition, launcher: str) -> list[str]:
    """The device of each rank if all ranks are processes of this host. Empty otherwise: other hosts' GPUs are not known
    here."""
    return resolve_devices(assign_devices(options.device.split(","), partition.cluster)) if launcher == LOCAL else []
