"""Frames: what comes in at the sockets of a run and through the memory that its workers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.fuzz.case import Case, Fuzz
from tests.fuzz.lanes import Lanes
from tests.fuzz.sealed import Sealed
from tests.fuzz.tensors import Tensors
from tests.fuzz.words import Words


class Frames(Fuzz):
    """Frames of tensors, plain and sealed, lanes, and words to the coordinator."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.parts: dict[Fuzz, int] = {Tensors(folder): 3, Sealed(folder): 2, Lanes(folder): 2, Words(folder): 3}

    def close(self) -> None:
        for part in self.parts:
            part.close()

    def sound(self) -> Iterator[Case]:
        for part in self.parts:
            yield from part.sound()

    def case(self, draw: Random) -> Case:
        (part,) = draw.choices(list(self.parts), list(self.parts.values()))
        return part.case(draw)
