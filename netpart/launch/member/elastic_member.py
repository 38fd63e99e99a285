"""ElasticMember: a worker process of an elastic run: its region service, which outlives its teams, and the teams.

    coordinator ── regroup(team) ──▶ worker      at its next message, or while it waits for one
                ◀── standby(team) ──             it has left the old team: its transport and memory are released
                ── welcome ───────▶              the plan of the new one, and where the regions of a snapshot are

What the old team has sent is dropped: its frames have another run id, and their sockets are gone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TextIO

from netpart.launch.member.checkpoint_files import CheckpointFiles
from netpart.launch.member.control_client import REGROUP, ControlClient, RegroupRequested
from netpart.launch.member.loop import WorkerLoop
from netpart.launch.snapshots.duties import decode_duty
from netpart.launch.snapshots.reader import SnapshotFiles, SnapshotReader
from netpart.launch.snapshots.region_secret import RegionSecret
from netpart.launch.snapshots.regions import Generation
from netpart.launch.snapshots.schedule import SnapshotSchedule
from netpart.launch.snapshots.service import RegionService
from netpart.launch.snapshots.store import SnapshotStore
from netpart.proto.control_pb2 import SnapshotDutyProto, WelcomeProto

REGROUP_SECONDS = 60.0
"""How long a worker that has failed waits, after the deadline of a message, for the coordinator to say what follows."""


def serve_teams(
    elastic: ElasticMember, welcome: WelcomeProto, serve: Callable[[WelcomeProto, ElasticMember], bool],
    control: ControlClient, log: TextIO,
) -> bool:  # fmt: skip
    """Serve in one team after another, by ``serve``, from that of ``welcome`` on; return True if the run completed.

    A worker that has failed waits for the next team, too: its failure may be that of another worker. ``elastic`` is
    closed at the end. Raises StopRequested.
    """
    try:
        while True:
            try:
                control.rank, control.team = welcome.rank, welcome.team
                elastic.begin_team(welcome)
                if serve(welcome, elastic):
                    return True
                control.receive(REGROUP, welcome.deadline + REGROUP_SECONDS)
            except RegroupRequested as request:
                team = request.team
            # The old team's memory: an error may have left it in a cycle, and the new plan needs the room.
            gc.collect()
            welcome = _await_team(control, team)
            print(f"worker {welcome.rank}: in team {welcome.team} of {welcome.workers}", file=log, flush=True)
    finally:
        elastic.close()


def _await_team(control: ControlClient, team: int) -> WelcomeProto:
    """The plan of team ``team``, or of a later one if workers are lost before that begins."""
    while True:
        try:
            return control.wait_for_team(team).welcome
        except RegroupRequested as later:
            team = later.team


class ElasticMember:
    """What a worker process keeps across teams. ``welcome`` is that of its first team, ``listen`` where its tensors
    arrive: the region service listens on the same host."""

    def __init__(self, welcome: WelcomeProto, listen: str) -> None:
        secret = RegionSecret(welcome.region_secret, welcome.seal, welcome.seal_everywhere)
        self.store = SnapshotStore()
        self.service = RegionService(self.store, secret)
        self.address = self.service.bind(_region_listen_address(listen))

    def begin_team(self, welcome: WelcomeProto) -> None:
        """Keep what the team of ``welcome`` starts from, and nothing else of earlier teams."""
        regions = welcome.regions
        if welcome.team:
            self.store.adopt(Generation(regions.team, regions.step) if welcome.HasField("regions") else None)

    def files(self, welcome: WelcomeProto, control: ControlClient, files: CheckpointFiles) -> CheckpointFiles:
        """``files``, and those of the snapshot that ``welcome`` starts from, if any."""
        if not welcome.HasField("regions"):
            return files
        return SnapshotFiles(SnapshotReader(self.service, welcome.regions, control.check), files)

    def schedule(
        self, loop: WorkerLoop, control: ControlClient, welcome: WelcomeProto, duty: SnapshotDutyProto, freq: int
    ) -> SnapshotSchedule:
        """The snapshots of a team, every ``freq`` steps; decisions about them reach it through ``control``."""
        schedule = SnapshotSchedule(
            loop.player, self.service, decode_duty(duty), welcome.team, control.rank, freq, control.send,
            loop.training_sums,
        )  # fmt: skip
        control.heed_snapshot = schedule.heed
        return schedule

    def close(self) -> None:
        """End the service."""
        self.service.close()


def _region_listen_address(listen: str) -> str:
    """Where the region service of a worker listens whose tensors arrive at ``listen``: the same host, a free port."""
    if listen == "tcp":
        return "tcp://127.0.0.1:*"
    return f"{listen.rpartition(':')[0]}:*" if listen.startswith("tcp:") else "ipc"
