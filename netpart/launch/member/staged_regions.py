"""StagedRegions: copies of the regions that one worker writes into checkpoints, while it trains on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from netpart.checkpoint.gathered_writes import allocate_as_in_file
from netpart.checkpoint.runs import range_start
from netpart.spec import extent, size
from netpart.worker.initial_values import ArrayOf
from netpart.worker.player import Player

Sources = Mapping[str, Mapping[str, ArrayOf]]
"""For each of the two files, and in it for each suffix of the names: a function that finds the array of a holding."""


class StagedRegions:
    """Copies of the homes of the holdings ``writes`` of ``player``, of each array that ``sources`` finds.

    ``places``: where the bytes of each tensor begin and end in its file, counted from a page of it.

    Raises MemoryRefused, before anything is allocated, if the worker may not have the memory.
    """

    def __init__(
        self, player: Player, writes: Iterable[int], sources: Sources, places: Mapping[str, tuple[int, int]]
    ) -> None:  # fmt: skip
        self.player = player
        self.sources = sources
        machine = player.machine
        shapes = {h: extent(player.program.holdings[h].home) for h in writes}
        found = {(file, suffix, h): shapes[h] for file, each in sources.items() for suffix in each for h in shapes}
        self.nbytes = sum(size(player.program.holdings[h].home) for _, _, h in found) * np.dtype(machine.dtype).itemsize
        machine.staged_bytes = self.nbytes
        machine.refuse_unless_fits(self.nbytes)
        self.copies: dict[tuple[str, str, int], NDArray[np.floating]] = {
            (file, suffix, h): np.ndarray(shape, machine.dtype, self._allocate(h, suffix, places))
            for (file, suffix, h), shape in found.items()
        }
        for copy in self.copies.values():
            copy.fill(0)  # so that the memory is there from the start, and not at the first checkpoint

    def _allocate(self, h: int, suffix: str, places: Mapping[str, tuple[int, int]]) -> NDArray[np.uint8]:
        """Memory for a copy. A large one lies in its pages as in those of the file, and is written from here."""
        holding, item = self.player.program.holdings[h], np.dtype(self.player.machine.dtype)
        start = range_start(holding.parameter.spec.shape, holding.home)
        at = places[holding.parameter.name + suffix][0] + (start or 0) * item.itemsize
        return allocate_as_in_file(size(holding.home) * item.itemsize, at)

    def refresh(self) -> None:
        """Copy the values of this moment."""
        for (file, suffix, h), copy in self.copies.items():
            np.copyto(copy, self.player.machine.to_host(self.sources[file][suffix](h)))

    def find(self, file: str, suffix: str, h: int) -> NDArray[np.floating]:
        """The copy of one array of the holding ``h``."""
        return self.copies[file, suffix, h]
