"""Memory plan: buffers whose lives do not overlap share memory. Greedy by size, as in register allocation.

time ─▶   conv1.y ████████████████
          temp         ██
          dpool1            ████████      conv1.y and dpool1 overlap in time: side by side
          dconv1                 █████    dconv1 starts after temp ends: may lie on it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from netpart.program.buffers import ALIAS, ARENA, Buffer, View
from netpart.program.instructions import CollectiveStart, Forward, Instruction

ALIGN = 64
NONE: Mapping[int, int] = MappingProxyType({})


def plan_arena(
    buffers: list[Buffer], instructions: list[Instruction], float_size: int, places: Mapping[int, int] = NONE,
    copies: Mapping[int, int] = NONE, linger: int = 0,
) -> tuple[dict[int, int], int]:  # fmt: skip
    """Offsets in bytes of all arena buffers that ``instructions`` touch, and the arena's size.

    ``places`` says which buffers lie in the place of another, ``copies`` of which there are several, side by side;
    ``linger`` as in ``lifetimes``.
    """
    lives = lifetimes(buffers, instructions, places, copies, linger)
    sizes = {b: copies.get(b, 1) * aligned(buffers[b].nbytes(float_size)) for b in lives}
    order = sorted(lives, key=lambda b: (-sizes[b], lives[b][0], b))
    placed = np.empty((len(order), 4), np.int64)
    for n, b in enumerate(order):
        (first, last), nbytes = lives[b], sizes[b]
        others = placed[:n]
        meeting = others[(others[:, 0] <= last) & (others[:, 1] >= first), 2:]
        placed[n] = first, last, lowest_gap(meeting, nbytes), nbytes
    ends = placed[:, 2] + placed[:, 3]
    offsets = dict(zip(order, placed[:, 2].tolist(), strict=True))
    return offsets | {b: offsets[place] for b, place in places.items()}, int(ends.max(initial=0))


def aligned(nbytes: int) -> int:
    """What a buffer of ``nbytes`` takes of the arena."""
    return -(-nbytes // ALIGN) * ALIGN


def lowest_gap(taken: npt.NDArray[np.int64], nbytes: int) -> int:
    """The lowest offset where ``nbytes`` fit between the taken (offset, size) ranges."""
    taken = taken[np.argsort(taken[:, 0])]
    ends = np.concatenate([[0], np.maximum.accumulate(taken[:, 0] + taken[:, 1])])
    fits = taken[:, 0] - ends[:-1] >= nbytes
    return int(ends[fits.argmax()] if fits.any() else ends[-1])


def lifetimes(
    buffers: list[Buffer], instructions: list[Instruction], places: Mapping[int, int] = NONE,
    copies: Mapping[int, int] = NONE, linger: int = 0,
) -> dict[int, tuple[int, int]]:  # fmt: skip
    """First and last instruction that touches each arena buffer, or what lies in its place: of one of which there are
    ``copies``, the first and the last of all, for it lives from step to step. Lives end ``linger`` later."""
    lives, end = dict[int, tuple[int, int]](), len(instructions) - 1
    for time, instruction in enumerate(instructions):
        until = min(time + linger, end)
        for view in views(instruction):
            b = held(buffers, view.buffer)
            b = places.get(b, b)
            if buffers[b].kind == ARENA:
                first, last = lives.get(b, (time, until))
                lives[b] = (first, max(last, until))
    return lives | {b: (0, end) for b in copies if b in lives}


def held(buffers: Sequence[Buffer], b: int) -> int:
    """The buffer that has memory of its own and that ``b`` is, or is a range of."""
    return place(buffers, b)[0]


def place(buffers: Sequence[Buffer], b: int) -> tuple[int, int]:
    """That buffer, and the element of it with which ``b`` begins."""
    start = 0
    while buffers[b].kind == ALIAS:
        b, start = buffers[b].parent, start + buffers[b].offset
    return b, start


def views(instruction: Instruction) -> Iterator[View]:
    """Every view an instruction reads or writes."""
    for name in instruction.__match_args__:
        value = getattr(instruction, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, View):
                yield each
            elif isinstance(each, CollectiveStart | Forward):
                yield from views(each)
