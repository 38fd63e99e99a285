"""WatchBook: what listeners that watch a run closely get: positions of workers, and sampled steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from time import monotonic

from netpart.graph.partition import Partition
from netpart.launch.coordinator.step_looks import StepLooks
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.predicted_volumes import predict_volumes
from netpart.launch.report.watch_events import StepSampled, WorkerPosition, WorkerPositions
from netpart.proto.control_pb2 import ControlProto, TraceProto

POSITIONS_SECONDS = 1.0
"""Shortest time between two reports of where the workers are."""


class WatchBook:
    """WorkerPositions and steps of ``members``, which ``listener`` receives. ``send`` sends a message to a member."""

    def __init__(
        self, partition: Partition, first_step: int, members: list[MemberRecord],
        send: Callable[[MemberRecord, ControlProto], None], listener: Callable[[WorkerPositions | StepSampled], None],
    ) -> None:  # fmt: skip
        self.partition = partition
        self.first_step = first_step
        self.members = members
        self.listener = listener
        self.cluster = cluster = partition.cluster
        groups = (range(group * cluster.workers, (group + 1) * cluster.workers) for group in range(cluster.groups))
        self.looks = [
            StepLooks(number, [members[rank] for rank in ranks], send, listener, self.find_edge)
            for number, ranks in enumerate(groups)
        ]
        self.due = 0.0

    def hear_beat(self) -> None:
        """Report the positions and ask for a step, as far as they are due. To be called with every heartbeat."""
        now = monotonic()
        if now < self.due:
            return
        self.due = now + POSITIONS_SECONDS
        rows = ((m.rank, m.beat.phase, m.beat.step, m.beat.doing or "starting", now - m.heard) for m in self.members)
        self.listener(WorkerPositions(tuple(WorkerPosition(*row) for row in rows)))
        for looks in self.looks:
            looks.look(now)

    def take(self, member: MemberRecord, trace: TraceProto) -> None:
        """Take a traced step of one worker. A server has none."""
        if not self.cluster.is_server(member.rank):
            self.looks[self.cluster.group(member.rank)].take(member, trace, monotonic())

    def find_edge(self, key: tuple[int, ...]) -> tuple[str, int]:
        """The name of an edge and the rank that receives, by the rank that sends and the channel."""
        return self.edges.get(key, (f"channel {key}", -1))

    @cached_property
    def edges(self) -> dict[tuple[int, ...], tuple[str, int]]:
        """Names and receivers of all edges of the run. Phases are in front of names: "train ip1-00:ip2-01"."""
        found = predict_volumes(self.partition, self.first_step)
        return {volume.key: (volume.name, volume.target) for volume in found}
