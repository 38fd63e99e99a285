"""Peak: the moment of a step at which most of the arena is in use, and what is in it then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netpart.program.arena import lifetimes
from netpart.program.program import WorkerProgram


@dataclass(frozen=True)
class Peak:
    """``buffers`` are (name, bytes) of what lives while instruction number ``instruction`` runs, largest first."""

    instruction: int
    buffers: tuple[tuple[str, int], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all of them: no arena of this Program can be smaller."""
        return sum(nbytes for _, nbytes in self.buffers)


def peak(program: WorkerProgram, phase: str = "train") -> Peak:
    """The high-water mark of ``phase``; of several equal ones the first."""
    instructions = program.phases[phase].instructions
    lives = lifetimes(program.buffers, instructions)
    sizes = {b: program.buffers[b].nbytes(program.float_size) for b in lives}
    change = np.zeros(len(instructions) + 1, np.int64)
    for b, (first, last) in lives.items():
        change[first] += sizes[b]
        change[last + 1] -= sizes[b]
    time = int(change.cumsum().argmax())
    alive = [(program.buffers[b].name, sizes[b]) for b, (first, last) in lives.items() if first <= time <= last]
    return Peak(time, tuple(sorted(alive, key=lambda held: -held[1])))
