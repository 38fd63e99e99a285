"""ArenaPeak: the moment of a step at which most of the arena is in use, and the buffers in it at that moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netpart.program.arena import buffer_lifetimes
from netpart.program.packing import Ints, memory_load
from netpart.program.program import WorkerProgram


@dataclass(frozen=True)
class ArenaPeak:
    """``buffers`` are the (name, bytes) of those alive while instruction number ``instruction`` runs, largest first."""

    instruction: int
    buffers: tuple[tuple[str, int], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all these buffers: no arena of this Program can be smaller."""
        return sum(nbytes for _, nbytes in self.buffers)


@dataclass
class ArenaPiece:
    """A piece of the arena from instruction ``first`` to ``last``; buffers that take its place meanwhile extend it."""

    name: str
    nbytes: int
    first: int
    last: int


def find_arena_peak(program: WorkerProgram, phase: str = "train") -> ArenaPeak:
    """The peak of ``phase``; the first of several equal ones."""
    found = _arena_pieces(program, phase)
    time = int(_piece_load(found).argmax())
    alive = [(t.name, t.nbytes) for t in found if t.first <= time <= t.last]
    return ArenaPeak(time, tuple(sorted(alive, key=lambda held: -held[1])))


def arena_load(program: WorkerProgram, phase: str = "train") -> list[int]:
    """The bytes of the arena that are in use while each instruction of ``phase`` runs."""
    load = _piece_load(_arena_pieces(program, phase)).tolist()
    count = len(program.phases[phase].instructions)
    return [*load, *[0] * count][:count]


def _piece_load(pieces: list[ArenaPiece]) -> Ints:
    rows = [(piece.first, piece.last, piece.nbytes) for piece in pieces]
    return memory_load(np.array(rows, np.int64).reshape(-1, 3))


def _arena_pieces(program: WorkerProgram, phase: str) -> list[ArenaPiece]:
    """All pieces that the arena holds in a step. Buffers that share memory are one piece, named after the first."""
    offsets = program.phases[phase].offsets
    buffers = program.buffers
    copies = program.phases[phase].copies
    lives = buffer_lifetimes(buffers, program.phases[phase].instructions, copies=copies)
    latest: dict[int, ArenaPiece] = {}
    found: list[ArenaPiece] = []
    for b, (first, last) in sorted(lives.items(), key=lambda item: item[1]):
        before = latest.get(offsets[b])
        nbytes = copies.get(b, 1) * buffers[b].nbytes(program.float_size)
        # At one offset only buffers that share memory, or are empty, can live at the same time.
        if before is not None and first <= before.last:
            before.last = max(last, before.last)
            before.nbytes = max(nbytes, before.nbytes)
        else:
            latest[offsets[b]] = ArenaPiece(buffers[b].name, nbytes, first, last)
            found.append(latest[offsets[b]])
    return found
