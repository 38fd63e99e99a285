"""Cluster: the ranks of a run, which worker group each belongs to, and which ranks are parameter servers.

    group 0   group 1   ...   servers          rank = group * workers + worker; servers come last
    0 .. K-1  K .. 2K-1       GK .. GK+S-1

Within a group each member has a number: workers have 0 .. K-1, followed by the servers, which all groups share. Step s
is mini-batch s of the job, and group s mod G computes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpart.errors import ConfigError
from netpart.proto.job_pb2 import Schedule
from netpart.proto.limits import WORKERS
from netpart.units import plural_text

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import ClusterProto, JobProto


@dataclass(frozen=True)
class Cluster:
    """``groups`` groups of ``workers`` workers each, and ``servers`` that apply the gradients of all groups.

    Several groups without servers apply their own gradients, and average their parameters every ``sync`` of their
    steps. ``staleness`` bounds, in steps, how far a group may be ahead (None: unbounded). With ``in_turns``, servers
    apply gradients only in the order of their steps.
    """

    workers: int
    groups: int = 1
    servers: int = 0
    sync: int = 1
    staleness: int | None = None
    in_turns: bool = False

    @property
    def size(self) -> int:
        """Number of ranks of the run: all workers and servers."""
        return self.groups * self.workers + self.servers

    @property
    def averages(self) -> bool:
        """True if groups average their parameters."""
        return self.groups > 1 and not self.servers

    @property
    def reporting_ranks(self) -> range:
        """The ranks of group 0, whose metrics are those of the run."""
        return range(self.workers)

    @property
    def checkpoint_ranks(self) -> range:
        """The ranks that write checkpoints: the servers, else group 0."""
        return range(self.size - self.servers, self.size) if self.servers else self.reporting_ranks

    def is_server(self, rank: int) -> bool:
        """True if ``rank`` is a server."""
        return rank >= self.groups * self.workers

    def group(self, rank: int) -> int:
        """The group of a worker, by its rank."""
        return rank // self.workers

    def number_in_group(self, rank: int) -> int:
        """The number of ``rank`` within its group; servers follow the workers."""
        return rank - (self.groups - 1) * self.workers if self.is_server(rank) else rank % self.workers

    def ranks(self, group: int) -> tuple[int, ...]:
        """The ranks of a group, in order of their number: its workers, then all servers."""
        servers = range(self.size - self.servers, self.size)
        return (*range(group * self.workers, (group + 1) * self.workers), *servers)

    def replicas(self, rank: int) -> tuple[int, ...]:
        """The ranks of the same worker in all groups."""
        return tuple(group * self.workers + rank % self.workers for group in range(self.groups))

    def steps(self, group: int, first: int, end: int) -> range:
        """The steps of ``group`` in the range from ``first`` to before ``end``."""
        # The least step from ``first`` on that is congruent to ``group`` modulo the number of groups: after a resume
        # ``first`` need not be a multiple of it.
        return range(first + (group - first) % self.groups, end, self.groups)

    def name(self, rank: int) -> str:
        """Name of a rank in messages: "worker 3 (of group 1)", "server 0 (rank 4)"."""
        if self.is_server(rank):
            return f"server {rank - self.groups * self.workers} (rank {rank})"
        return f"worker {rank}" + (f" (of group {self.group(rank)})" if self.groups > 1 else "")

    def __str__(self) -> str:
        """Description of the cluster: "2 groups of 3 workers, 2 servers"."""
        text = plural_text(self.workers, "worker")
        text = f"{self.groups} groups of {text}" if self.groups > 1 else text
        return f"{text}, {plural_text(self.servers, 'server')}" if self.servers else text


def cluster_of(job: JobProto, workers: int) -> Cluster:
    """The cluster that ``job`` describes, in groups of ``workers`` workers.

    One group that keeps its parameters sums gradients (AllReduce); one group with its own servers is Sandblaster;
    several groups with common servers are Downpour. Several groups that each keep their own parameters are Distributed
    Hogwild, where netpart averages the parameters around the ring. Raises ConfigError, with its place, for fields that
    conflict.
    """
    conf = job.cluster
    groups = job.cluster.nworker_groups
    # SINGA's Hogwild: one server group inside each worker group. Here the workers keep the parameters themselves.
    own = conf.nserver_groups == groups and not conf.server_worker_separate
    servers = 0 if conf.nserver_groups == 0 or (own and groups > 1) else conf.nservers_per_group
    if servers and conf.nserver_groups > 1:
        allowed = f"0, 1, or {groups} with server_worker_separate: false" if groups > 1 else "0 or 1"
        hint = "all groups share one group of servers, or each keeps its own parameters"
        _refuse_cluster("nserver_groups", allowed, conf.nserver_groups, hint)
    # Servers that share processes with the only worker group do the same as workers that apply their own updates.
    if groups == 1 and not conf.server_worker_separate:
        servers = 0
    bound = conf.staleness if conf.HasField("staleness") else None
    if groups > 1 and not servers:
        bound = _averaging_bound(conf)
    if servers and job.updater.ema_eval:
        where = ("updater", "ema_eval")
        hint = "servers keep the averages; test them in a run of one group, from its checkpoint with ema_start"
        raise ConfigError(".".join(where), "false, with servers", "true", hint, at=where)
    if (servers or groups > 1) and job.neuralnet.schedule == Schedule.DELAYED:
        where = ("neuralnet", "schedule")
        hint = "a pipeline is delayed within one group that keeps its parameters itself"
        raise ConfigError(
            ".".join(where), "ONE_F_ONE_B or GPIPE, with several groups or servers", "DELAYED", hint, at=where
        )
    found = Cluster(workers, groups, servers, conf.sync_freq, bound, conf.in_turns)
    if found.size > WORKERS:
        raise ConfigError(
            "cluster",
            f"at most {WORKERS} workers and servers",
            f"{found.size} ({found})",
            "start fewer",
            at=("cluster",),
        )
    return found


def has_groups_or_servers(job: JobProto) -> bool:
    """True if several groups train ``job``, or servers keep its parameters, however many workers a group has."""
    return cluster_of(job, 1).size > 1


def single_group_job(job: JobProto) -> JobProto:
    """A copy of ``job`` for one group that keeps its parameters itself."""
    copy = type(job)()
    copy.CopyFrom(job)
    for field in ("nworker_groups", "nserver_groups", "server_worker_separate", "staleness", "in_turns"):
        copy.cluster.ClearField(field)
    return copy


def _averaging_bound(conf: ClusterProto) -> int:
    """Steps that a group may run while its current average is in flight: at most until the next average starts."""
    if conf.in_turns:
        _refuse_cluster("in_turns", "false, without servers", "true", "groups average at fixed steps anyway: omit it")
    if conf.HasField("staleness") and conf.staleness > conf.sync_freq:
        hint = "only one average is in flight at a time: raise sync_freq"
        _refuse_cluster("staleness", f"at most sync_freq, {conf.sync_freq}", conf.staleness, hint)
    return conf.staleness if conf.HasField("staleness") else conf.sync_freq


def _refuse_cluster(field: str, expected: str, got: object, hint: str) -> None:
    """Raise ConfigError for a field of the cluster."""
    raise ConfigError(f"cluster.{field}", expected, str(got), hint, at=("cluster", field))
