"""Memory plan of the arena: buffers whose lifetimes do not overlap share memory, as registers do (packing.py).

time ─▶   conv1.y ████████████████
          temp         ██
          dpool1            ████████      conv1.y and dpool1 overlap in time: side by side
          dconv1                 █████    dconv1 starts after temp ends: may lie on it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from netpart.program.buffers import ALIAS, ARENA, Buffer
from netpart.program.instructions import Instruction
from netpart.program.packing import pack_memory

ALIGN = 64
"""Bytes to which buffers in the arena are aligned."""
NONE: Mapping[int, int] = MappingProxyType({})


def plan_arena(
    buffers: list[Buffer], instructions: list[Instruction], float_size: int, places: Mapping[int, int] = NONE,
    copies: Mapping[int, int] = NONE, linger: int = 0,
) -> tuple[dict[int, int], int]:  # fmt: skip
    """Offsets in bytes of all arena buffers that ``instructions`` touch, and the arena's size in bytes.

    ``places``: buffer -> the buffer whose memory it uses. ``copies``: buffer -> the number of its copies, which lie one
    after another. ``linger`` as in ``buffer_lifetimes``.
    """
    lives = buffer_lifetimes(buffers, instructions, places, copies, linger)
    pieces = [(*life, copies.get(b, 1) * align_to_arena(buffers[b].nbytes(float_size))) for b, life in lives.items()]
    found, size = pack_memory(np.array(pieces, np.int64).reshape(-1, 3))
    offsets = dict(zip(lives, found.tolist(), strict=True))
    return offsets | {b: offsets[place] for b, place in places.items()}, size


def align_to_arena(nbytes: int) -> int:
    """Bytes that a buffer of ``nbytes`` takes in the arena."""
    return -(-nbytes // ALIGN) * ALIGN


def buffer_lifetimes(
    buffers: list[Buffer], instructions: list[Instruction], places: Mapping[int, int] = NONE,
    copies: Mapping[int, int] = NONE, linger: int = 0,
) -> dict[int, tuple[int, int]]:  # fmt: skip
    """First and last instruction that touches each arena buffer, or a buffer that uses its memory (``places``).

    A buffer of which there are several ``copies`` is kept from step to step, so it lives from the first to the last
    instruction of the step. Lifetimes end ``linger`` instructions later.
    """
    lives = dict[int, tuple[int, int]]()
    end = len(instructions) - 1
    for time, instruction in enumerate(instructions):
        until = min(time + linger, end)
        for touched in instruction.buffers:
            b = owning_buffer(buffers, touched)
            b = places.get(b, b)
            if buffers[b].kind == ARENA:
                first, last = lives.get(b, (time, until))
                lives[b] = (first, max(last, until))
    return lives | {b: (0, end) for b in copies if b in lives}


def owning_buffer(buffers: Sequence[Buffer], b: int) -> int:
    """The buffer with memory of its own that ``b`` is, or is a range of."""
    return resolve_alias(buffers, b)[0]


def resolve_alias(buffers: Sequence[Buffer], b: int) -> tuple[int, int]:
    """The buffer with memory of its own that contains ``b``, and the index of its element at which ``b`` begins."""
    start = 0
    while buffers[b].kind == ALIAS:
        b, start = buffers[b].parent, start + buffers[b].offset
    return b, start
