"""Teams of players in one process with region services, for tests of snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np

from netpart.checkpoint.safetensors_file import create_checkpoint, join_checkpoint, open_checkpoint
from netpart.checkpoint.steps import updater_file
from netpart.graph.partition import Partition
from netpart.graph.saved_holdings import assign_checkpoint_writes
from netpart.kernels.op import Array
from netpart.launch.coordinator.snapshot_book import SnapshotBook
from netpart.launch.snapshots.duties import assign_duties
from netpart.launch.snapshots.reader import SnapshotFile, SnapshotReader, encode_region_map
from netpart.launch.snapshots.region_secret import RegionSecret
from netpart.launch.snapshots.regions import PARAMETERS, UPDATER, Generation
from netpart.launch.snapshots.schedule import SnapshotSchedule
from netpart.launch.snapshots.service import RegionService
from netpart.launch.snapshots.store import SnapshotStore
from netpart.proto.control_pb2 import ControlProto
from netpart.proto.element import float_size
from netpart.updaters import build_updater
from netpart.worker.ensemble import Ensemble
from netpart.worker.initial_values import fill_from_checkpoint
from netpart.worker.player import Player

SECRET = RegionSecret(bytes(range(32)))
SECONDS = 20.0


class SnapshotTeam:
    """Services and schedules of all players of ``ensemble``, whose workers are on ``hosts``, and their coordinator."""

    def __init__(
        self, ensemble: Ensemble, services: Sequence[RegionService], hosts: Sequence[str] = (), team: int = 0
    ) -> None:
        cut = ensemble.partition
        self.book = SnapshotBook(cut.workers)
        self.duties = assign_duties(cut, assign_checkpoint_writes(cut), hosts or [""] * cut.workers)
        for duty in self.duties:
            duty.buddy_address = services[duty.buddy].address if duty.buddy >= 0 else ""
        self.services = services
        self.told: list[ControlProto] = []
        self.schedules = [
            SnapshotSchedule(player, services[rank], duty, team, rank, 10, self.told.append)
            for rank, (player, duty) in enumerate(zip(ensemble.players, self.duties, strict=True))
        ]

    def take(self, step: int) -> None:
        """Take the snapshot of ``step`` everywhere, and wait for the coordinator's decision."""
        for schedule in self.schedules:
            schedule.take(step)
        end = monotonic() + SECONDS
        while any(schedule.under_way for schedule in self.schedules):
            assert monotonic() < end, f"no decision about step {step}: {self.services[0].last_refusal}"
            self.decide()

    def decide(self) -> None:
        """Hand on what workers have told, and what follows."""
        for schedule in self.schedules:
            schedule.tell_sent()
        while self.told:
            decision = self.book.hear(self.told.pop(0).snapshot)
            for schedule in self.schedules:
                if decision is not None:
                    schedule.heed(decision)


@contextmanager
def services_of(count: int, secret: RegionSecret = SECRET, address: str = "ipc") -> Iterator[list[RegionService]]:
    """Region services with empty stores; closed at the end."""
    services = [RegionService(SnapshotStore(), secret) for _ in range(count)]
    try:
        for service in services:
            service.bind(address)
        yield services
    finally:
        for service in services:
            service.close()


def reader_of(own: RegionService, generation: Generation, holders: Sequence[RegionService]) -> SnapshotReader:
    """A reader for ``own`` of what the stores of ``holders`` have of ``generation``."""
    held = [(each.address, each.store.whole_regions(generation)) for each in holders]
    return SnapshotReader(own, encode_region_map(generation, held), seconds=5.0)


def restore_player(player: Player, reader: SnapshotReader) -> None:
    """Fill the parameters and the updater's state of ``player``, as CheckpointShare.restore does."""
    states = _states(player)
    if states:
        fill_from_checkpoint(player, SnapshotFile(reader, UPDATER), states)
    fill_from_checkpoint(player, SnapshotFile(reader, PARAMETERS), {"": player.parameters.values})


def _states(player: Player) -> dict[str, Callable[[int], Array]]:
    """The arrays of the updater's state by the suffix of their names, each as a function of the holding."""
    updater = player.machine.updater
    return {f".{s}": partial(_state, player, s) for s in (updater.states if updater else ())}


def _state(player: Player, name: str, holding: int) -> Array:
    return player.machine.state[holding][name]


def save_checkpoint(ensemble: Ensemble, path: Path) -> None:
    """Write the checkpoint of ``ensemble``, with the updater's state next to it."""
    cut: Partition = ensemble.partition
    shapes = {p.name: (f"F{8 * float_size(cut.job)}", p.spec.saved or p.spec.shape) for p in cut.parameters}
    slots = build_updater(cut.job.updater).states
    files = [create_checkpoint(path, shapes)]
    if slots:
        states = {f"{name}.{slot}": shape for name, shape in shapes.items() for slot in slots}
        files.append(create_checkpoint(updater_file(path), states))
    for rank, writes in enumerate(assign_checkpoint_writes(cut)):
        player = ensemble.players[rank]
        for h in writes:
            holding = player.program.holdings[h]
            for suffix, find in {"": player.parameters.at_home, **_states(player)}.items():
                with join_checkpoint(updater_file(path) if suffix else path) as file:
                    name, shape = holding.parameter.name + suffix, holding.parameter.spec.shape
                    file.write_region(name, holding.home, np.asarray(find(h)), shape)
    for each in files:
        each.finish()


def restore_from_file(player: Player, path: Path) -> None:
    """Fill ``player`` from a checkpoint."""
    if states := _states(player):
        with open_checkpoint(updater_file(path)) as file:
            fill_from_checkpoint(player, file, states)
    with open_checkpoint(path) as file:
        fill_from_checkpoint(player, file, {"": player.parameters.values})


def memory_of(ensemble: Ensemble) -> list[bytes]:
    """The bits of all parameters and updater's states of all players."""
    found = []
    for player in ensemble.players:
        for h in range(len(player.program.holdings)):
            arrays = [player.parameters.values(h), *player.machine.state[h].values()]
            found.append(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
    return found
