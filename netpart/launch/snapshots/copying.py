"""RegionSources: where the regions that a worker copies at a snapshot lie in its memory."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.kernels.op import Array
from netpart.launch.snapshots.duties import CopiedRegion, SnapshotDuty, named_regions
from netpart.launch.snapshots.regions import Generation, RegionName
from netpart.launch.snapshots.store import SnapshotStore
from netpart.spec import relative_slices
from netpart.worker.player import Player


class RegionSources:
    """The sources of what ``duty`` has ``player`` copy."""

    def __init__(self, player: Player, duty: SnapshotDuty) -> None:
        self.player = player
        self.duty = duty
        updater = player.machine.updater
        self.states = tuple(updater.states) if updater else ()

    def names(self, copied: CopiedRegion) -> list[RegionName]:
        """The regions that ``copied`` stands for."""
        name = self.player.program.holdings[copied.holding].parameter.name
        return named_regions(name, copied, self.states, self.player.program.float_size)

    def kept(self) -> list[RegionName]:
        """All regions that this worker keeps of a snapshot, copied and taken."""
        own = [name for copied in self.duty.copied for name in self.names(copied)]
        return own + [name for names in self.duty.taken.values() for name in names]

    def sent(self) -> list[RegionName]:
        """The regions that this worker sends to its buddy, in the order in which the buddy expects them."""
        return [name for copied in self.duty.copied if copied.sent for name in self.names(copied)]

    def copy_to(self, store: SnapshotStore, generation: Generation) -> None:
        """Copy the regions as they are now, between two steps, to ``store``."""
        for copied in self.duty.copied:
            for name, array in zip(self.names(copied), self._arrays(copied), strict=True):
                store.write(generation, name, self.player.machine.to_host(array))

    def _arrays(self, copied: CopiedRegion) -> Iterator[Array]:
        """The memory of the regions that ``copied`` stands for, on the device."""
        h = copied.holding
        holding = self.player.program.holdings[h]
        if not copied.updater:
            yield self.player.parameters.values(h)[relative_slices(copied.box, holding.box)]
            return
        for state in self.states:
            yield self.player.machine.state[h][state][relative_slices(copied.box, holding.home)]
