"""Memory plan: buffers whose lives do not overlap share memory. Greedy by size, as in register allocation.

time ─▶   conv1.y ████████████████
          temp         ██
          dpool1            ████████      conv1.y and dpool1 overlap in time: side by side
          dconv1                 █████    dconv1 starts after temp ends: may lie on it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from netpart.program.buffers import ALIAS, ARENA, Buffer, View
from netpart.program.instructions import CollectiveStart, Instruction

ALIGN = 64


def plan_arena(buffers: list[Buffer], instructions: list[Instruction], float_size: int) -> tuple[dict[int, int], int]:
    """Offsets in bytes of all arena buffers that ``instructions`` touch, and the arena's size."""
    lives = lifetimes(buffers, instructions)
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[int, int] = {}
    for b in sorted(lives, key=lambda b: (-buffers[b].nbytes(float_size), lives[b][0], b)):
        first, last = lives[b]
        nbytes = -(-buffers[b].nbytes(float_size) // ALIGN) * ALIGN
        offsets[b] = lowest_gap(((o, n) for f, t, o, n in placed if f <= last and first <= t), nbytes)
        placed.append((first, last, offsets[b], nbytes))
    return offsets, max((o + n for _, _, o, n in placed), default=0)


def lowest_gap(taken: Iterable[tuple[int, int]], nbytes: int) -> int:
    """The lowest offset where ``nbytes`` fit between the taken (offset, size) ranges."""
    start = 0
    for offset, n in sorted(taken):
        if start + nbytes <= offset:
            break
        start = max(start, offset + n)
    return start


def lifetimes(buffers: list[Buffer], instructions: list[Instruction]) -> dict[int, tuple[int, int]]:
    """First and last instruction that touches each arena buffer."""
    lives: dict[int, tuple[int, int]] = {}
    for time, instruction in enumerate(instructions):
        for view in views(instruction):
            b = view.buffer
            while buffers[b].kind == ALIAS:
                b = buffers[b].parent
            if buffers[b].kind == ARENA:
                first, _ = lives.get(b, (time, time))
                lives[b] = (first, time)
    return lives


def views(instruction: Instruction) -> Iterator[View]:
    """Every view an instruction reads or writes."""
    for f in fields(instruction):
        value = getattr(instruction, f.name)
        if isinstance(value, View):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, View))
        elif isinstance(value, CollectiveStart):
            yield from views(value)
