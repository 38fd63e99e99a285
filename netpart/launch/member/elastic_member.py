"""ElasticMember: the region service of a worker process, and the snapshots of its teams."""

from __future__ import annotations

from netpart.launch.member.checkpoint_files import CheckpointFiles
from netpart.launch.member.control_client import ControlClient
from netpart.launch.snapshots.duties import decode_duty
from netpart.launch.snapshots.reader import SnapshotFiles, SnapshotReader
from netpart.launch.snapshots.region_secret import RegionSecret
from netpart.launch.snapshots.schedule import SnapshotSchedule
from netpart.launch.snapshots.service import RegionService
from netpart.launch.snapshots.store import SnapshotStore
from netpart.proto.control_pb2 import SnapshotDutyProto, WelcomeProto
from netpart.worker.player import Player


class ElasticMember:
    """What a worker process keeps across teams. ``welcome`` is that of its first team, ``listen`` where its tensors
    arrive: the region service listens on the same host."""

    def __init__(self, welcome: WelcomeProto, listen: str) -> None:
        secret = RegionSecret(welcome.region_secret, welcome.seal, welcome.seal_everywhere)
        self.store = SnapshotStore()
        self.service = RegionService(self.store, secret)
        self.address = self.service.bind(region_listen_address(listen))

    def files(self, welcome: WelcomeProto, control: ControlClient, files: CheckpointFiles) -> CheckpointFiles:
        """``files``, and those of the snapshot that ``welcome`` starts from, if any."""
        if not welcome.HasField("regions"):
            return files
        return SnapshotFiles(SnapshotReader(self.service, welcome.regions, control.check), files)

    def schedule(
        self, player: Player, control: ControlClient, welcome: WelcomeProto, duty: SnapshotDutyProto, freq: int
    ) -> SnapshotSchedule:
        """The snapshots of a team, every ``freq`` steps; decisions about them reach it through ``control``."""
        schedule = SnapshotSchedule(
            player, self.service, decode_duty(duty), welcome.team, control.rank, freq, control.send
        )
        control.heed_snapshot = schedule.heed
        return schedule

    def close(self) -> None:
        """End the service."""
        self.service.close()


def region_listen_address(listen: str) -> str:
    """Where the region service of a worker listens whose tensors arrive at ``listen``: the same host, a free port."""
    if listen == "tcp":
        return "tcp://127.0.0.1:*"
    return f"{listen.rpartition(':')[0]}:*" if listen.startswith("tcp:") else "ipc"
