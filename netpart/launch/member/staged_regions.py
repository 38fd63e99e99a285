"""StagedRegions: copies of the regions that one worker writes into checkpoints, while it trains on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from netpart.spec import extent, size
from netpart.worker.initial_values import ArrayOf
from netpart.worker.player import Player

Sources = Mapping[str, Mapping[str, ArrayOf]]
"""For each of the two files, and in it for each suffix of the names: a function that finds the array of a holding."""


class StagedRegions:
    """Copies of the homes of the holdings ``writes`` of ``player``, of each array that ``sources`` finds.

    Raises MemoryRefused, before anything is allocated, if the worker may not have the memory.
    """

    def __init__(self, player: Player, writes: Iterable[int], sources: Sources) -> None:
        self.player = player
        self.sources = sources
        machine = player.machine
        shapes = {h: extent(player.program.holdings[h].home) for h in writes}
        found = {(file, suffix, h): shapes[h] for file, each in sources.items() for suffix in each for h in shapes}
        self.nbytes = sum(size(player.program.holdings[h].home) for _, _, h in found) * np.dtype(machine.dtype).itemsize
        machine.staged_bytes = self.nbytes
        machine.refuse_unless_fits(self.nbytes)
        self.copies: dict[tuple[str, str, int], NDArray[np.floating]] = {
            key: np.empty(shape, machine.dtype) for key, shape in found.items()
        }
        for copy in self.copies.values():
            copy.fill(0)  # so that the memory is there from the start, and not at the first checkpoint

    def refresh(self) -> None:
        """Copy the values of this moment."""
        for (file, suffix, h), copy in self.copies.items():
            np.copyto(copy, self.player.machine.to_host(self.sources[file][suffix](h)))

    def find(self, file: str, suffix: str, h: int) -> NDArray[np.floating]:
        """The copy of one array of the holding ``h``."""
        return self.copies[file, suffix, h]
