"""Groups and servers in one thread: everybody goes as far as he can, in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from netpart.graph.partition import partition_job
from netpart.graph.server_pieces import add_job_servers
from netpart.kernels.device import array_module
from netpart.kernels.reference import Kernels
from netpart.launch.member.average_schedule import AverageSchedule
from netpart.program.compile import compile_worker
from netpart.program.server import compile_server
from netpart.proto.cluster import Cluster
from netpart.proto.job_pb2 import JobProto
from netpart.spec import relative_slices, whole_region
from netpart.transport.memory import MemoryHub
from netpart.updaters import build_updater
from netpart.worker.flow_control import done_channel
from netpart.worker.group_averaging import GroupAveraging
from netpart.worker.player import Player
from netpart.worker.server_player import AppliedUpdate, ServerPlayer
from netpart.worker.wait_reasons import WaitReason

Values = np.ndarray[Any, Any]


class ReachedVersions:
    """The keeper of a server that notes its versions in ``reached``, and never stops."""

    def __init__(self, reached: list[int]) -> None:
        self.note = reached.append

    def reached(self, version: int) -> None:
        self.note(version)

    def is_judged(self, version: int) -> bool:
        return False

    def answered(self, version: int) -> bool:
        return False


class Groups:
    """Plays the training steps of ``job`` on groups of ``workers``, and their servers. ``order`` seeds the turns, and
    ``kernels`` are those of workers.

    ``applied[rank]`` are the updates of a server, or the averages of a worker; ``reached[rank]`` the versions that a
    server went through, with the values of its pieces at each.
    """

    def __init__(
        self, job: JobProto, workers: int, order: int = 0, meetings: Sequence[int] = (),
        kernels: type[Kernels] = Kernels,
    ) -> None:  # fmt: skip
        self.kernels, (self.xp, _) = kernels, array_module(kernels.runs_on)
        self.partition = add_job_servers(partition_job(job, workers))
        self.cluster: Cluster = self.partition.cluster
        self.random, self.hub = Random(order), MemoryHub(self.cluster.size)
        self.meetings = [*meetings, job.train_steps]
        self.applied: dict[int, list[AppliedUpdate]] = {rank: [] for rank in range(self.cluster.size)}
        self.reached: dict[int, list[int]] = {rank: [] for rank in range(self.cluster.size)}
        self.players = [self.player(rank) for rank in range(self.cluster.size)]
        self.playing = {rank: self.play(rank) for rank in range(self.cluster.size)}

    def player(self, rank: int) -> Player:
        partition, cluster = self.partition, self.cluster
        rule, number = build_updater(partition.job.updater), cluster.number_in_group(rank)
        if cluster.is_server(rank):
            player = Player(compile_server(partition, number, len(rule.states)), self.hub[rank], np, rule)
        else:
            slots, group = (0 if cluster.servers else len(rule.states)), cluster.group(rank)
            program = compile_worker(partition, number, slots, kernels=self.kernels, group=group)
            player = Player(program, self.hub[rank], self.xp, None if cluster.servers else rule, partition.job.seed)
        player.machine.seed = partition.job.seed
        player.parameters.initialise()
        return player

    def play(self, rank: int) -> Iterator[WaitReason]:
        """All steps of one member."""
        player = self.players[rank]
        cluster = self.cluster
        end = self.partition.job.train_steps
        note = self.applied[rank].append
        if cluster.is_server(rank):
            serving = ServerPlayer(player, cluster, 0, end, self.meetings, note, ReachedVersions(self.reached[rank]))
            yield from serving.play()
            return
        averages = None
        if cluster.averages:
            averaging, group = GroupAveraging(player, self.hub[rank], cluster, rank), cluster.group(rank)
            averages = AverageSchedule(averaging, player, cluster, group, 0, self.meetings, note)
            yield WaitReason("the others to get ready", rank, "train", 0, done_channel("train", rank, rank))
        for step in range(end):
            if averages and step in self.meetings:
                yield from averages.equalise_groups(step)
            if step % cluster.groups == cluster.group(rank):
                yield from player.play("train", step)
                if averages:
                    yield from averages.run_due(step)
        if averages:
            yield from averages.equalise_groups(end)

    def run(self) -> None:
        """Plays to the end; fails if nobody can go on."""
        for rank in list(self.playing):
            next(self.playing[rank])
        idle = 0
        while self.playing:
            ranks = list(self.playing)
            rank = self.random.choice(ranks)
            before = sum(self.hub[r].arrivals for r in range(self.cluster.size))
            ended = next(self.playing[rank], None) is None
            if ended:
                del self.playing[rank]
            after = sum(self.hub[r].arrivals for r in range(self.cluster.size))
            idle = 0 if ended or after > before else idle + 1
            assert idle < 1000 * self.cluster.size, f"nobody goes on: {ranks}"

    def parameter(self, name: str, ranks: Sequence[int] | None = None) -> Values:
        """The whole of a parameter, from its keepers or from ``ranks``."""
        spec = next(p.spec for p in self.partition.parameters if p.name == name)
        found = np.full(spec.shape, np.nan)
        for rank in self.cluster.checkpoint_ranks if ranks is None else ranks:
            for h, holding in enumerate(self.players[rank].program.holdings):
                if holding.parameter.name == name:
                    held = self.players[rank].parameters.values(h)
                    found[relative_slices(holding.box, whole_region(spec.shape))] = self.players[rank].machine.to_host(
                        held
                    )
        assert not np.isnan(found).any()
        return found

    @property
    def names(self) -> list[str]:
        """Names of all parameters."""
        return [p.name for p in self.partition.parameters]
