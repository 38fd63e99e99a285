"""Fusion: an activation in the place of what it reads becomes part of the instruction before it.

forward conv   w x                 forward conv+relu   w x, then x
forward relu   r x  w y = x
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from netpart.kernels.reference import Kernels
from netpart.layers.elementwise import Elementwise
from netpart.program.instructions import Forward, Instruction
from netpart.program.sharing import Layers


def fused(
    instructions: list[Instruction], layers: Layers, places: Mapping[int, int], kernels: type[Kernels]
) -> list[Instruction]:
    """``instructions`` with every activation fused that can be; ``places`` are those of Sharing."""
    if not kernels.fuses:
        return instructions
    found: list[Instruction] = []
    for instruction in instructions:
        before = found[-1] if found else None
        if isinstance(instruction, Forward) and isinstance(before, Forward) and before.then is None:
            follows = instruction.x == before.y[:1] and in_place(instruction, places)
            first, second = (layers[i.micro, i.part] for i in (before, instruction))
            if follows and first.fuses and isinstance(second, Elementwise) and second.kind() in kernels.fuses:
                found[-1] = replace(before, then=instruction)
                continue
        found.append(instruction)
    return found


def in_place(instruction: Forward, places: Mapping[int, int]) -> bool:
    """True if what an instruction makes lies where its input does."""
    x, y = instruction.x[0], instruction.y[0]
    return x is not None and places.get(y.buffer, y.buffer) == places.get(x.buffer, x.buffer)
